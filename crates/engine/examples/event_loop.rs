//! Loops over the events of NanoAOD files: `cargo run --release --example event_loop -- FILE...`
//!
//! Files are paths and URLs. Prints a line of JSON: the events, the muons, and the time.

use sapwood::{Call, Deadline, EventLoop, EventLoopOptions, Result};
use std::time::Instant;

const COLUMNS: [&str; 8] = ["nMuon", "Muon_pt", "Muon_eta", "MET_pt", "nJet", "Jet_pt", "Jet_eta", "run"];

#[derive(Debug, Default)]
struct Found {
    events: usize,
    muons: i64,
    /// Events with two central muons, and the activity of jets in them.
    pairs: usize,
    activity: f64,
    last_run: u32,
}

fn main() -> Result<()> {
    let files = std::env::args().skip(1);
    let begin = Instant::now();
    let mut never = || false;
    let found = look(files, &mut Call::new(Deadline::default(), &mut never))?;
    let seconds = begin.elapsed().as_secs_f64();
    let Found { events, muons, pairs, activity, last_run } = found;
    #[expect(clippy::print_stdout, reason = "the result")]
    {
        println!(
            r#"{{"seconds": {seconds}, "entries": {events}, "sum": {muons}, "pairs": {pairs}, "activity": {activity}, "last_run": {last_run}}}"#
        );
    }
    Ok(())
}

fn look(files: impl Iterator<Item = String>, call: &mut Call<'_>) -> Result<Found> {
    let mut found = Found::default();
    let mut events = EventLoop::new(files, "Events", COLUMNS, EventLoopOptions::default());
    while let Some(chunk) = events.next(call)? {
        let (count, run) = (chunk.numbers::<i32>("nMuon")?, chunk.numbers::<u32>("run")?);
        let (muon_pt, muon_eta) = (chunk.lists::<f32>("Muon_pt")?, chunk.lists::<f32>("Muon_eta")?);
        let (met, jets) = (chunk.numbers::<f32>("MET_pt")?, chunk.numbers::<i32>("nJet")?);
        let (jet_pt, jet_eta) = (chunk.lists::<f32>("Jet_pt")?, chunk.lists::<f32>("Jet_eta")?);
        for event in 0..chunk.len() {
            found.events += 1;
            found.muons += i64::from(count[event]);
            found.last_run = run[event];
            let muons = muon_pt[event].iter().zip(&muon_eta[event]);
            let central = muons.filter(|(pt, eta)| **pt > 10.0 && eta.abs() < 2.4).count();
            if central >= 2 && jets[event] > 0 {
                let jets = jet_pt[event].iter().zip(&jet_eta[event]);
                let hard = jets.filter(|(pt, eta)| **pt > 30.0 && eta.abs() < 2.5);
                found.pairs += 1;
                found.activity += f64::from(met[event] + hard.map(|(pt, _)| pt).sum::<f32>());
            }
        }
    }
    Ok(found)
}
