#include <TFile.h>
#include <TTree.h>

#include "counted.h"
using namespace counted;

void Set(Wave &wave, int i)
{
   wave.Resize(i % 3 ? i : 0, i % 2 ? i + 1 : 0);
   for (int k = 0; k < wave.count; ++k) {
      wave.samples[k] = 0.5f * i + k;
      wave.weights[k] = 0.25 * k - i;
   }
   for (int k = 0; k < wave.others; ++k) wave.bits[k] = 10 * i + k;
   for (int k = 0; k < 4; ++k) wave.flags[k] = i - k;
}

void Set(Spectrum &spectrum, int i)
{
   spectrum.unused = 2 * i;
   spectrum.Resize(i % 4);
   for (int k = 0; k < spectrum.size; ++k) spectrum.bins[k] = i + 0.125f * k;
}

void Write(const char *path, int level)
{
   TFile file(path, "RECREATE");
   TTree tree("T", "");
   auto event = new Event;
   auto wave = new Wave;
   auto spectrum = new Spectrum;
   auto detector = new Detector;
   auto modules = new std::vector<Module>;
   auto waves = new std::vector<Wave>;
   tree.Branch("event.", &event, 32000, level);
   tree.Branch("wave.", &wave, 32000, level);
   tree.Branch("modules", &modules, 32000, level);
   tree.Branch("spectrum", &spectrum, 32000, level);
   tree.Branch("detector.", &detector, 32000, level);
   tree.Branch("waves", &waves, 32000, level);
   for (int i = 0; i < 7; ++i) {
      Set(event->wave, i + 1);
      event->number = i;
      Set(event->spectrum, i + 2);
      delete[] event->trigger;
      event->triggers = i % 3;
      event->trigger = new UShort_t[3];
      for (int k = 0; k < 3; ++k) event->trigger[k] = i * k;
      Set(*wave, i);
      Set(*spectrum, i);
      detector->id = i;
      detector->waves.resize(i % 3);
      for (int k = 0; k < i % 3; ++k) Set(detector->waves[k], i + k);
      modules->resize(i % 4);
      for (int k = 0; k < i % 4; ++k) {
         Set((*modules)[k].wave, i + k);
         Set((*modules)[k].spectrum, i + k + 1);
         (*modules)[k].id = k;
      }
      waves->resize((i + 1) % 3);
      for (int k = 0; k < (i + 1) % 3; ++k) Set((*waves)[k], i + k);
      tree.Fill();
   }
   tree.Write();
}

int main(int, char **arguments)
{
   for (int level : {0, 1, 99})
      Write(Form("%s/counted_level%d.root", arguments[1], level), level);
}
