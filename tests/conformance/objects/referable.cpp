#include <string>

#include <TFile.h>
#include <TProcessID.h>
#include <TTree.h>

#include "referable.h"
using namespace referable;

void Set(Hit &hit, int i)
{
   hit.channel = i;
   hit.energy = 0.5f * i;
   if (i % 3 == 1) hit.SetUniqueID(i);
   if (i % 4 == 1) hit.SetBit(1 << 14);
}

void Set(Digi &digi, int i)
{
   Set(static_cast<Hit &>(digi), i);
   digi.charges.assign(i % 3, 0.25f * i);
}

void Set(TNamed &named, int i)
{
   auto name = i % 3 ? "name" + std::to_string(i) : "";
   // A long one has another length in front.
   auto title = i % 5 == 4 ? std::string(300, 't') : "title " + std::to_string(i);
   named.SetNameTitle(name.c_str(), title.c_str());
   if (i % 4 == 3) named.SetBit(1 << 15);
}

void Set(Label &label, int i)
{
   Set(static_cast<TNamed &>(label), i);
   label.code = -i;
}

void Set(Pad &pad, int i)
{
   pad.x = i;
   pad.y = -i;
   pad.row = i;
   pad.SetUniqueID(i + 7);
}

void Set(Cell &cell, int i)
{
   Set(cell.hit, i);
   Set(cell.label, i + 1);
   Set(cell.named, i + 2);
   Set(cell.pad, i + 3);
   cell.mark.SetUniqueID(i + 4);
   cell.time = 0.125 * i;
   cell.momentum.SetXYZT(i, 2 * i, 3 * i, 4 * i);
   cell.seed = &cell.hit;
}

template <class T>
void Set(std::vector<T> &items, int size, int i)
{
   items.clear();
   items.resize(size);
   for (int k = 0; k < size; ++k) Set(items[k], i + k);
}

void Set(Event &event, int i)
{
   event.number = i;
   event.SetUniqueID(i);
   Set(event.first, i);
   Set(event.cell, i);
   Set(event.label, i);
   Set(event.title, i + 1);
   Set(event.hits, i % 4, i);
   Set(event.digis, 1 + i % 2, i);
   Set(event.labels, (i + 1) % 4, i);
   Set(event.pads, i % 2, i);
   Set(event.cells, i % 3, i);
   Set(event.names, i % 3, i);
   event.sum.SetXYZT(1, i, 2, 3 * i);
   event.points.assign(i % 3, TVector3(i, 1, 2));
   event.leading = event.hits.empty() ? nullptr : &event.hits.back();
   event.all.Clear();
   for (auto &hit : event.hits) event.all.Add(&hit);
}

void Write(const char *path, int level)
{
   TFile file(path, "RECREATE");
   TTree tree("T", "");
   Event event;
   Run run;
   Cell cell;
   Hit hit;
   Pad pad;
   TNamed named;
   Bare bare;
   Holder holder;
   std::vector<Digi> digis;
   std::vector<Label> labels;
   std::vector<Cell> cells;
   std::vector<Pad> pads;
   tree.Branch("event.", &event, 32000, level);
   tree.Branch("run.", &run, 32000, level);
   tree.Branch("cell.", &cell, 32000, level);
   tree.Branch("hit", &hit, 32000, level);
   tree.Branch("pad.", &pad, 32000, level);
   tree.Branch("named.", &named, 32000, level);
   tree.Branch("bare.", &bare, 32000, level);
   tree.Branch("holder.", &holder, 32000, level);
   tree.Branch("digis", &digis, 32000, level);
   tree.Branch("labels", &labels, 32000, level);
   tree.Branch("cells", &cells, 32000, level);
   tree.Branch("pads.", &pads, 32000, level);
   for (int i = 0; i < 6; ++i) {
      auto count = TProcessID::GetObjectCount();
      Set(event, i);
      Set(run, i);
      run.number = i;
      Set(run.labels, i % 3, i);
      Set(cell, i);
      Set(hit, i);
      if (i % 2) cell.seed = &hit;
      Set(pad, i);
      Set(named, i);
      bare.value = i * 3;
      holder.bare = bare;
      holder.code = i;
      Set(digis, 1 + i % 3, i);
      Set(labels, (i + 2) % 3, i);
      Set(cells, i % 3, i + 9);
      Set(pads, i % 3, i);
      tree.Fill();
      // The numbers of objects that can be referred to begin again.
      TProcessID::SetObjectCount(count);
   }
   tree.Write();
}

int main(int, char **arguments)
{
   Bare::Class()->IgnoreTObjectStreamer();
   for (int level : {0, 1, 99})
      Write(Form("%s/referable_level%d.root", arguments[1], level), level);
}
