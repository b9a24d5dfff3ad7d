#include <TFile.h>
#include <TTree.h>

#include "clones.h"
using namespace clones;

void Set(Hit &hit, int i)
{
   hit.channel = i;
   hit.energy = 0.5 * i;
   hit.at.x = i;
   hit.at.y = -i;
   hit.SetUniqueID(i % 2 ? i : 0);
}

void Set(Track &track, int i)
{
   track.SetNameTitle(Form("track%d", i), i % 2 ? "odd" : "");
   for (int k = 0; k < 3; ++k) track.momentum[k] = i + 0.25f * k;
   track.hits.assign(i % 3, i);
   track.charge = -i;
}

template <class T>
void Set(TClonesArray &array, int size, int i)
{
   array.Clear("C");
   for (int k = 0; k < size; ++k) Set(*static_cast<T *>(array.ConstructedAt(k)), i + k);
}

void Write(const char *path, int level)
{
   TFile file(path, "RECREATE");
   TTree tree("T", "");
   auto event = new Event;
   auto holder = new Holder;
   auto hits = new TClonesArray("clones::Hit");
   auto tracks = new TClonesArray("clones::Track");
   tree.Branch("event.", &event, 32000, level);
   tree.Branch("holder.", &holder, 32000, level);
   tree.Branch("hits", &hits, 32000, level);
   tree.Branch("tracks", &tracks, 32000, level);
   for (int i = 0; i < 6; ++i) {
      event->number = i;
      Set<Hit>(event->hits, i % 4, i);
      Set<Track>(*event->tracks, i % 3, i);
      holder->code = i;
      Set<Hit>(holder->event.hits, i % 2, i);
      Set<Hit>(*hits, (i + 1) % 3, i);
      Set<Track>(*tracks, (i + 2) % 4, i);
      tree.Fill();
   }
   tree.Write();
}

int main(int, char **arguments)
{
   for (int level : {0, 1, 99})
      Write(Form("%s/clones_level%d.root", arguments[1], level), level);
}
