"""Prints what ROOT reads in RNTuples, as JSON: run by a Python that has ROOT, see `root_peer.py`.

Arguments: a file, then names of RNTuples in it. Each gives a dict: description, types by field, entries.
"""

from __future__ import annotations

import os
import sys
import tempfile

import ROOT

CODE = r"""
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/REntry.hxx>
#include <ROOT/RField.hxx>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <map>

using Value = ROOT::RFieldBase::RValue;

template <typename T>
void Number(const Value &value, std::ostream &out) {
   auto number = value.GetRef<T>();
   if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(number)) {
         out << (std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
         return;
      }
   }
   out << std::setprecision(17) << +number;
}

void Text(const std::string &text, std::ostream &out) {
   out << '"';
   for (unsigned char c : text)
      if (c == '"' || c == '\\') out << '\\' << c;
      else out << c;
   out << '"';
}

void Print(const Value &value, std::ostream &out) {
   const auto &field = value.GetField();
   const auto type = field.GetTypeName();
   static const std::map<std::string, void (*)(const Value &, std::ostream &)> numbers{
      {"std::int8_t", Number<std::int8_t>},   {"std::uint8_t", Number<std::uint8_t>},
      {"std::int16_t", Number<std::int16_t>}, {"std::uint16_t", Number<std::uint16_t>},
      {"std::int32_t", Number<std::int32_t>}, {"std::uint32_t", Number<std::uint32_t>},
      {"std::int64_t", Number<std::int64_t>}, {"std::uint64_t", Number<std::uint64_t>},
      {"ROOT::RNTupleCardinality<std::uint32_t>", Number<ROOT::RNTupleCardinality<std::uint32_t>>},
      {"float", Number<float>},               {"double", Number<double>}};
   if (auto found = numbers.find(type); found != numbers.end()) return found->second(value, out);
   if (type == "bool") { out << (value.GetRef<bool>() ? "true" : "false"); return; }
   if (type == "std::string") return Text(value.GetRef<std::string>(), out);
   // The one variant of the tests: values of variants cannot be split.
   using Variant = std::variant<std::string, std::int64_t>;
   if (type == "std::variant<std::string,std::int64_t>") {
      const auto &variant = value.GetRef<Variant>();
      if (const auto text = std::get_if<std::string>(&variant)) Text(*text, out);
      else if (const auto number = std::get_if<std::int64_t>(&variant)) out << *number;
      else out << "null";
      return;
   }
   auto parts = field.SplitValue(value);
   const bool named = field.GetStructure() == ROOT::ENTupleStructure::kRecord && type.empty();
   if (type.rfind("std::optional<", 0) == 0) {
      if (parts.empty()) out << "null"; else Print(parts[0], out);
      return;
   }
   out << (named ? '{' : '[');
   for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i) out << ", ";
      if (named) { Text(parts[i].GetField().GetFieldName(), out); out << ": "; }
      Print(parts[i], out);
   }
   out << (named ? '}' : ']');
}

void PrintAll(const char *path, const char *name) {
   auto reader = ROOT::RNTupleReader::Open(name, path);
   auto &out = std::cout;
   out << "{\"description\": ";
   Text(reader->GetDescriptor().GetDescription(), out);
   out << ", \"types\": {";
   std::vector<std::string> fields;
   for (const auto *field : reader->GetModel().GetConstFieldZero().GetConstSubfields()) {
      if (!fields.empty()) out << ", ";
      fields.push_back(field->GetFieldName());
      Text(field->GetFieldName(), out);
      out << ": ";
      Text(field->GetTypeName(), out);
   }
   out << "}, \"entries\": [";
   auto entry = reader->GetModel().CreateEntry();
   for (auto index : reader->GetEntryRange()) {
      reader->LoadEntry(index, *entry);
      out << (index ? ",\n{" : "{");
      bool first = true;
      for (const auto &value : *entry) {
         if (!first) out << ", ";
         first = false;
         Text(value.GetField().GetFieldName(), out);
         out << ": ";
         Print(value, out);
      }
      out << "}";
   }
   out << "]}" << std::flush;
}
"""


def prepare() -> None:
    """Compiles the program that prints, and prints once, for what this compiles."""
    ROOT.gInterpreter.Declare(CODE)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "some.root")
        model = ROOT.RNTupleModel.Create()
        model.MakeField["std::vector<int>"]("x")
        with ROOT.RNTupleWriter.Recreate(model, "some", path):
            pass
        ROOT.PrintAll(path, "some")


def main() -> None:
    """Prints the RNTuples that are named."""
    path, *names = sys.argv[1:]
    for place, name in enumerate(names):
        print(", " if place else "[", end="", flush=True)
        ROOT.PrintAll(path, name)
    ROOT.gInterpreter.ProcessLine('std::cout << "]" << std::endl;')


if __name__ == "__main__":
    ROOT.gInterpreter.Declare(CODE)
    main()
