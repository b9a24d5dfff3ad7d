#include <TFile.h>
#include <TTree.h>
#include <TProcessID.h>

#include "referable.h"
using namespace referable;
void Set(Hit &hit, int i) { hit.channel = i; hit.energy = 0.5f * i; if (i % 3 == 1) hit.SetUniqueID(i); if (i % 4 == 1) hit.SetBit(1 << 14); }
void Set(Digi &s, int i) { Set(static_cast<Hit &>(s), i); s.charges.assign(i % 3, 0.25f * i); }
void Set(TNamed &n, int i) { n.SetNameTitle(i % 3 ? Form("name%d", i) : "", i % 5 == 4 ? std::string(300, 't').c_str() : Form("title %d", i)); if (i % 4 == 3) n.SetBit(1 << 15); }
void Set(Label &l, int i) { Set(static_cast<TNamed &>(l), i); l.code = -i; }
void Set(Pad &p, int i) { p.x = i; p.y = -i; p.row = i; p.SetUniqueID(i + 7); }
void Set(Cell &c, int i) { Set(c.hit, i); Set(c.label, i + 1); Set(c.named, i + 2); Set(c.pad, i + 3); c.mark.SetUniqueID(i + 4); c.time = 0.125 * i; c.momentum.SetXYZT(i, 2 * i, 3 * i, 4 * i); c.seed = &c.hit; }
template <class T> void Set(std::vector<T> &v, int n, int i) { v.clear(); v.resize(n); for (int k = 0; k < n; ++k) Set(v[k], i + k); }
template <class T> TBranch* AddBranch(TTree &tree, const char *name, T &object, int level) { return tree.Branch(name, &object, 32000, level); }
void Write(const char *path, int level)
{
   TFile file(path, "RECREATE");
   TTree tree("T", "");
   auto event = new Event; auto run = new Run; auto cell = new Cell; auto hit = new Hit; auto pad = new Pad; auto named = new TNamed; auto bare = new Bare; auto holder = new Holder;
   auto digis = new std::vector<Digi>; auto labels = new std::vector<Label>; auto cells = new std::vector<Cell>; auto pads = new std::vector<Pad>;
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
      event->all.Clear();
      event->number = i; Set(event->first, i); Set(event->cell, i); Set(event->label, i); Set(event->title, i + 1);
      event->SetUniqueID(i); bare->value = i * 3; holder->bare = *bare; holder->code = i; 
      Set(event->hits, i % 4, i); Set(event->digis, 1 + i % 2, i); Set(event->labels, (i + 1) % 4, i); Set(event->pads, i % 2, i);
      Set(event->cells, i % 3, i); Set(event->names, i % 3, i);
      event->sum.SetXYZT(1, i, 2, 3 * i);
      event->points.assign(i % 3, TVector3(i, 1, 2));
      event->leading = event->hits.empty() ? nullptr : &event->hits.back();
      for (auto &hit : event->hits) event->all.Add(&hit);
      Set(*run, i); run->number = i; Set(run->labels, i % 3, i);
      Set(*cell, i); Set(*hit, i); Set(*pad, i); Set(*named, i); Set(*digis, 1 + i % 3, i); Set(*labels, (i + 2) % 3, i); Set(*cells, i % 3, i + 9); Set(*pads, i % 3, i);
      if (i % 2) cell->seed = hit;
      tree.Fill();
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
