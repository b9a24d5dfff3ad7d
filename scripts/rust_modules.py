"""The modules of a Rust crate, read from its sources, and the references between them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\(?:u\{\w+\}|x\w\w|.)|[^'\\])'|'\w+|\s+)
    |(?P<raw>b?c?r(?P<hashes>\#*)"(?s:.*?)"(?P=hashes))
    |(?P<comment>/\*)
    |(?P<token>r\#\w+|\w+|::|.)""",
    re.VERBOSE | re.DOTALL,
)
DEFINING = {"struct", "enum", "union", "trait", "type", "fn", "const", "static"}
QUALIFIERS = {"pub", "unsafe", "async", "extern", "const", "mod", "use", *DEFINING}


@dataclass(frozen=True)
class Token:
    text: str
    line: int


@dataclass(frozen=True)
class Use:
    """One name of a `use`: its path, and its local name ("*" for all names of a module)."""

    path: tuple[str, ...]
    name: str
    line: int
    public: bool


@dataclass(eq=False)
class Module:
    """A module, in its own file or inline in that of another."""

    name: str
    file: Path
    parent: "Module | None" = None
    children: "dict[str, Module]" = field(default_factory=dict)
    items: set[str] = field(default_factory=set)
    uses: list[Use] = field(default_factory=list)
    code: list[Token] = field(default_factory=list)

    def root(self) -> "Module":
        return self.parent.root() if self.parent else self

    def member(self, module: "Module") -> str | None:
        """The child of this module that contains `module`; for this module itself, its file."""
        if module is self:
            return str(self.file)
        while module.parent is not None and module.parent is not self:
            module = module.parent
        return module.name if module.parent is self else None


@dataclass(frozen=True)
class Reference:
    """An item of `target` that `source` names."""

    source: Module
    target: Module
    line: int
    name: str

    def describe(self, root: Path) -> str:
        source, target = (module.file.relative_to(root) for module in (self.source, self.target))
        return f"{source}:{self.line} uses {self.name} of {target}"


# --- reading ---


def tokens(text: str) -> Iterator[Token]:
    """The tokens of the code, without comments, strings, characters and lifetimes."""
    position, line = 0, 1
    while match := TOKEN.match(text, position):
        end = match.end()
        if match["comment"]:
            end = comment_end(text, position)
        elif match["token"]:
            yield Token(match["token"].removeprefix("r#"), line)
        line += text.count("\n", position, end)
        position = end


def comment_end(text: str, start: int) -> int:
    """The position after the comment that begins here; comments nest."""
    depth, position = 0, start
    for match in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if match[0] == "/*" else -1
        position = start + match.end()
        if depth == 0:
            return position
    return len(text)


def without_tests(code: list[Token]) -> list[Token]:
    """The code without items under `#[cfg(test)]`."""
    kept: list[Token] = []
    index = 0
    while index < len(code):
        if [token.text for token in code[index : index + 6]] == ["#", "[", "cfg", "(", "test", ")"]:
            index = item_end(code, index)
        else:
            kept.append(code[index])
            index += 1
    return kept


def item_end(code: list[Token], index: int) -> int:
    """The index after the item, field or statement that begins here with its attributes."""
    while code[index].text == "#":
        index = closing(code, index + 1) + 1
    item = code[index].text in QUALIFIERS or code[index].text in {"impl", "macro_rules"}
    while index < len(code):
        text = code[index].text
        if text in "([{":
            index = closing(code, index)
            if text == "{" and item and code[index - 1].text != ";":
                break
        elif text in "}])":
            return index
        elif text == ";" or (text == "," and not item):
            break
        index += 1
    return index + 1


def closing(code: list[Token], index: int) -> int:
    """The index of the bracket that closes this one."""
    depth = 0
    while index < len(code):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[index].text, 0)
        if depth == 0:
            return index
        index += 1
    return index - 1


def load(crate: Path) -> list[Module]:
    """All modules of the crate in this folder, parents first."""
    source = crate / "src"
    root = source / "lib.rs"
    modules: list[Module] = []
    if not root.is_file():
        root = source / "main.rs"
    if root.is_file():
        read(Module("", root), source, modules)
    return modules


def read(module: Module, folder: Path, modules: list[Module]) -> None:
    """Reads a file into its module, and the files of the modules that it declares in `folder`."""
    modules.append(module)
    code = without_tests(list(tokens(module.file.read_text(encoding="utf-8"))))
    scan(module, code, folder, modules)


def scan(module: Module, code: list[Token], folder: Path, modules: list[Module]) -> None:
    """Sorts the code of a module into items, uses, inline modules, and all other code."""
    index = depth = 0
    public = False
    while index < len(code):
        text = code[index].text
        following = code[index + 1].text if index + 1 < len(code) else ""
        if text == "mod" and following.isidentifier():
            index = declare(module, code, index, folder, modules)
        elif text == "use" and following != "<":
            end = index
            while code[end].text != ";":
                end += 1
            collect(code[index + 1 : end], 0, (), public, module.uses)
            index = end
        else:
            if text in DEFINING and following.isidentifier() and depth == 0:
                module.items.add(following)
            if text == "macro_rules":
                module.items.add(code[index + 2].text)
            depth += {"{": 1, "}": -1}.get(text, 0)
            module.code.append(code[index])
        if text == "pub":
            public = True
        elif text in {";", "}", "{", "use"}:
            public = False
        index += 1


def declare(module: Module, code: list[Token], index: int, folder: Path, modules: list[Module]) -> int:
    """Adds the module that is declared here; returns the index of its last token."""
    name = code[index + 1].text
    if code[index + 2].text == "{":
        end = closing(code, index + 2)
        child = module.children[name] = Module(name, module.file, module)
        modules.append(child)
        scan(child, code[index + 3 : end], folder / name, modules)
        return end
    for file in (folder / f"{name}.rs", folder / name / "mod.rs"):
        if file.is_file():
            child = module.children[name] = Module(name, file, module)
            read(child, folder / name, modules)
    return index + 2


def collect(code: list[Token], index: int, prefix: tuple[str, ...], public: bool, uses: list[Use]) -> int:
    """Adds the names of one tree of a `use`; returns the index after it."""
    path = prefix
    while index < len(code) and code[index].text not in {",", "}"}:
        token = code[index]
        if token.text == "{":
            index += 1
            while code[index].text != "}":
                index = collect(code, index, path, public, uses)
                index += code[index].text == ","
            return index + 1
        if token.text == "*":
            uses.append(Use(path, "*", token.line, public))
            return index + 1
        if token.text == "as":
            uses.append(Use(path, code[index + 1].text, token.line, public))
            return index + 2
        if token.text != "::" and not (token.text == "self" and path):
            path = (*path, token.text)
        index += 1
    if path != prefix or (index and code[index - 1].text == "self"):
        uses.append(Use(path, path[-1], code[index - 1].line, public))
    return index


# --- resolving ---


class Resolver:
    """Resolves names to modules, or to the modules that define items."""

    def __init__(self) -> None:
        self.active: set[tuple[int, str]] = set()

    def lookup(self, module: Module, name: str) -> tuple[Module | None, Module | None]:
        """The module of this name, and the module that defines an item of this name; both may exist."""
        key = (id(module), name)
        if key in self.active:
            return None, None
        self.active.add(key)
        try:
            inner = module.children.get(name)
            owner = module if name in module.items else None
            for use in module.uses:
                if use.name == name and not (inner and owner):
                    found = self.resolve(module, use.path)
                    inner, owner = inner or found[0], owner or found[1]
            if inner is None and owner is None:
                inner, owner = self.glob(module, name)
            return inner, owner
        finally:
            self.active.discard(key)

    def glob(self, module: Module, name: str) -> tuple[Module | None, Module | None]:
        for use in module.uses:
            if use.name == "*":
                target, _ = self.resolve(module, use.path)
                found = self.lookup(target, name) if target else (None, None)
                if any(found):
                    return found
        return None, None

    def resolve(self, module: Module, path: tuple[str, ...]) -> tuple[Module | None, Module | None]:
        """The module of this path, or the module that defines its item; neither for other crates."""
        current: Module | None = module
        start = 0
        while start < len(path) and path[start] in {"crate", "self", "super"} and current:
            if path[start] == "crate":
                current = current.root()
            elif path[start] == "super":
                current = current.parent
            start += 1
        for index in range(start, len(path)):
            if current is None:
                return None, None
            inner, owner = self.lookup(current, path[index])
            last = index == len(path) - 1
            if last or inner is None:
                unknown = current if owner is None and inner is None and (start or index) else None
                return (inner, owner or unknown) if last else (None, owner or unknown)
            current = inner
        return current, None


def references(modules: list[Module]) -> list[Reference]:
    """The references between the modules of a crate."""
    resolver = Resolver()
    return [
        reference
        for module in modules
        for reference in (*used(resolver, module), *named(resolver, module))
        if reference.source.file != reference.target.file
    ]


def used(resolver: Resolver, module: Module) -> Iterator[Reference]:
    """The items that a module imports for its own code."""
    for use in module.uses:
        if not use.public and use.name != "*":
            _, owner = resolver.resolve(module, use.path)
            if owner:
                yield Reference(module, owner, use.line, "::".join(use.path))


def named(resolver: Resolver, module: Module) -> Iterator[Reference]:
    """The items that the code of a module names by a path, or by a name that it re-exports or globs."""
    index, code = 0, module.code
    while index < len(code):
        start, path = index, [code[index].text]
        while index + 2 < len(code) and code[index + 1].text == "::" and code[index + 2].text.isidentifier():
            index += 2
            path.append(code[index].text)
        index += 1
        if path[0].isidentifier() and (len(path) > 1 or plain(module, code, start)):
            _, owner = resolver.resolve(module, tuple(path))
            if owner:
                yield Reference(module, owner, code[start].line, "::".join(path))


def plain(module: Module, code: list[Token], index: int) -> bool:
    """Whether this name alone can refer to an item that another module defines."""
    name = code[index].text
    before = code[index - 1].text if index else ""
    following = code[index + 1].text if index + 1 < len(code) else ""
    if name in module.items or before in {".", "fn", "::"}:
        return False
    if not any(use.name in {name, "*"} for use in module.uses):
        return False
    return not name[0].islower() or following in {"(", "!", "::"}
