"""Makes objects.root and histograms.root, and what ROOT says of them: needs PyROOT; the tests do not."""

import json
import os
import sys
import tempfile
from pathlib import Path

import ROOT

HERE = Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
HERE = HERE if HERE.is_dir() else HERE.parent
ROOT.TH1.AddDirectory(False)
ROOT.gRandom.SetSeed(7)
# Classes that ROOT has no compiled dictionary for.
COLLECTIONS = [
    "std::map<std::string, std::vector<double>>",
    "std::multimap<int, float>",
    "std::vector<std::vector<int>>",
    "std::vector<TLorentzVector>",
]


def filled(histogram, dimension, weighted, labelled=False):
    if weighted:
        histogram.Sumw2()
    uniform = ROOT.gRandom
    for _ in range(60):
        where = [uniform.Uniform(-1.3, 1.3) for _ in range(dimension)]
        # Small weights: those of integer types must stay in their range.
        histogram.Fill(*where, *([uniform.Integer(3) + 0.5] if weighted else []))
    return histogram


def histograms():
    edges = ROOT.std.vector["double"]([-1, -0.5, 0, 0.125, 1])
    for letter in "CSILFD":
        yield filled(getattr(ROOT, f"TH1{letter}")(f"h1{letter}", "one;x title;y title", 5, -1, 1), 1, False)
    yield filled(ROOT.TH1D("weighted", "weighted", 5, -1, 1), 1, True)
    yield filled(ROOT.TH1F("variable", "variable bins", 4, edges.data()), 1, False)
    yield filled(ROOT.TH2D("h2D", "two;x;y", 3, -1, 1, 4, edges.data()), 2, True)
    yield filled(ROOT.TH2I("h2I", "two", 2, -1, 1, 3, -1, 1), 2, False)
    yield filled(ROOT.TH3F("h3F", "three", 2, -1, 1, 3, -1, 1, 4, -1, 1), 3, True)
    yield filled(ROOT.TH3S("h3S", "three", 2, -1, 1, 2, -1, 1, 2, -1, 1), 3, False)
    negative = ROOT.TH1D("negative", "negative contents", 3, 0, 3)
    negative.SetBinContent(1, -4)
    negative.SetBinContent(2, 9)
    yield negative
    labelled = ROOT.TH1D("labelled", "labels, not in the order of bins", 4, 0, 4)
    for number, label in (3, "muon"), (1, "electron"), (4, "tau"):
        labelled.GetXaxis().SetBinLabel(number, label)
        labelled.SetBinContent(number, 10 * number)
    yield labelled
    alphabet = ROOT.TH1F("categories", "labels for all", 3, 0, 3)
    for label in "b", "a", "b", "c", "b":
        alphabet.Fill(label, 1)
    yield alphabet
    for option in "", "s", "i", "g":
        yield profile(ROOT.TProfile(f"profile{option}", "means", 5, -1, 1, option), 1, False)
    yield profile(ROOT.TProfile("profile_weighted", "means", 5, -1, 1), 1, True)
    yield profile(ROOT.TProfile("profile_integers", "means", 5, -1, 1, "i"), 1, True, integers=True)
    yield profile(ROOT.TProfile2D("profile2D", "means", 3, -1, 1, 2, -1, 1), 2, True)
    yield profile(ROOT.TProfile3D("profile3D", "means", 2, -1, 1, 2, -1, 1, 2, -1, 1, "s"), 3, False)
    function = filled(ROOT.TH1F("fitted", "with a function", 5, -1, 1), 1, False)
    function.Fit("pol1", "Q0")
    yield function


def profile(made, dimension, weighted, integers=False):
    if weighted:
        made.Sumw2()
    uniform = ROOT.gRandom
    for _ in range(40):
        where = [uniform.Uniform(-1.3, 1.3) for _ in range(dimension)]
        value = float(int(where[0] > 0)) if integers else uniform.Gaus(where[0], 2)
        made.Fill(*where, value, *([uniform.Uniform(0.5, 2)] if weighted else []))
    return made


def facts(histogram):
    """What ROOT answers, bin by bin, underflow and overflow included."""
    bins = range(histogram.GetNcells())
    said = {
        "values": [histogram.GetBinContent(bin_) for bin_ in bins],
        "errors": [histogram.GetBinError(bin_) for bin_ in bins],
    }
    if histogram.InheritsFrom("TProfile"):
        said["counts"] = [histogram.GetBinEffectiveEntries(bin_) for bin_ in bins]
    axes = [histogram.GetXaxis(), histogram.GetYaxis(), histogram.GetZaxis()][: histogram.GetDimension()]
    said["edges"] = [[axis.GetBinLowEdge(bin_) for bin_ in range(1, axis.GetNbins() + 2)] for axis in axes]
    labels = [str(axes[0].GetBinLabel(bin_)) for bin_ in range(1, axes[0].GetNbins() + 1)]
    said["labels"] = labels if any(labels) else None
    return said


def objects(file):
    graph = ROOT.TGraphAsymmErrors(3)
    for number in range(3):
        graph.SetPoint(number, number, number**2)
        graph.SetPointError(number, 0.1, 0.2, 0.3 + number, 0.4 + number)
    file.WriteObject(graph, "graph_asymmetric")
    plain, errors = ROOT.TGraph(2), ROOT.TGraphErrors(2)
    for number in range(2):
        plain.SetPoint(number, number, -number)
        errors.SetPoint(number, number, -number)
        errors.SetPointError(number, 0.5, 0.25)
    file.WriteObject(plain, "graph")
    file.WriteObject(errors, "graph_errors")
    file.WriteObject(ROOT.TF1("f1", "[0]*sin([1]*x)", 0, 3), "function")
    file.WriteObject(ROOT.TParameter["double"]("scale", 1.5), "parameter")
    file.WriteObject(ROOT.TParameter["int"]("count", -3), "parameter_int")
    file.WriteObject(ROOT.TParameter["bool"]("flag", True), "parameter_bool")
    file.WriteObject(ROOT.TObjString("a short text"), "text")
    file.WriteObject(ROOT.TObjString(b"latin \xe9"), "text_latin")
    file.WriteObject(ROOT.std.string("a standard text"), "string")
    file.WriteObject(ROOT.TNamed("the name", "the title"), "named")
    table = ROOT.std.map["std::string", "std::vector<double>"]()
    table["one"] = ROOT.std.vector["double"]([1.0])
    table["none"] = ROOT.std.vector["double"]()
    table["two"] = ROOT.std.vector["double"]([1.5, 2.5])
    file.WriteObject(table, "map")
    several = ROOT.std.multimap["int", "float"]()
    for key, value in (1, 1.5), (1, 2.5), (2, 3.5):
        several.insert(ROOT.std.pair["const int", "float"](key, value))
    file.WriteObject(several, "multimap")
    file.WriteObject(ROOT.std.vector["std::string"](["x", "", "zz"]), "strings")
    nested = ROOT.std.vector["std::vector<int>"]([[1, 2], [], [3]])
    file.WriteObject(nested, "nested")
    vectors = ROOT.std.vector["TLorentzVector"]()
    for number in range(3):
        vectors.push_back(ROOT.TLorentzVector(number, 2, 3, 10 + number))
    file.WriteObject(vectors, "vectors")
    file.WriteObject(ROOT.TLorentzVector(1, 2, 3, 4), "vector")
    mixed = ROOT.TObjArray()
    one, two = ROOT.TNamed("first", "1st"), ROOT.TObjString("second")
    three = ROOT.TParameter["double"]("third", 3.0)
    for item in one, two, three, one:
        mixed.Add(item)
    place = ROOT.TVector3(1, 2, 3)  # ROOT's collections do not keep Python's objects alive
    mixed.AddAtAndExpand(place, 6)
    file.WriteObject(mixed, "array")
    listed = ROOT.TList()
    listed.SetName("options")
    listed.Add(one, "colz")
    listed.Add(two)
    file.WriteObject(listed, "list")
    hashed = ROOT.THashList()
    hashed.Add(one)
    file.WriteObject(hashed, "hashed")
    file.WriteObject(ROOT.TList(), "empty")
    mapped = ROOT.TMap()
    key, number = ROOT.TObjString("key"), ROOT.TObjString("number")
    mapped.Add(key, two)
    mapped.Add(number, three)
    file.WriteObject(mapped, "tmap")
    matrix = ROOT.TMatrixD(2, 3)
    for row in range(2):
        for column in range(3):
            matrix[row][column] = 10 * row + column
    file.WriteObject(matrix, "matrix")
    file.mkdir("dir/sub")
    file.GetDirectory("dir/sub").WriteObject(ROOT.TNamed("deep", "in a directory"), "deep")


def open_new(name):
    file = ROOT.TFile(str(HERE / name), "RECREATE")
    file.SetCompressionSettings(505)
    return file


os.chdir(tempfile.mkdtemp())  # where the compiler of dictionaries leaves its files
ROOT.gInterpreter.GenerateDictionary(";".join(COLLECTIONS), "map;vector;string;TLorentzVector.h")
file = open_new("histograms.root")
said = {}
for histogram in histograms():
    file.WriteObject(histogram, histogram.GetName())
    said[histogram.GetName()] = facts(histogram)
file.Close()
file = open_new("objects.root")
objects(file)
file.Close()
(HERE / "histograms.json").write_text(json.dumps(said, indent=None, separators=(",", ":")) + "\n")
