//! The outputs of a chain: none, stripes, a ROOT file, a flat file.

use super::discard::DiscardStore;
use super::flat_output::FlatOutput;
use super::input::ChainInput;
use super::lane_output::{Baskets, LaneOutput, Output, Pack};
use super::options::{ChainOptions, ChainOutput};
use sapwood_codec::Compression;
use sapwood_core::{Call, Deadline, Error, Result};
use sapwood_dataset::{
    CutBatch, DatasetLocation, EventNumbers, InputProduct, ProductBasket, StripeWriter, Template,
    UnionTreeWriter, Uploads, WriterLease, put_object, stripe_entries,
};
use sapwood_rewrite::repack::RepackReport;
use sapwood_rewrite::repack::baskets::BasketEncoding;
use sapwood_rewrite::repack::output::OutputFile as RootFile;
use sapwood_store::Store;
use sapwood_stripe::{Change, Dataset, LayoutOptions, NewSegment, Provenance, SegmentLayout, plan};
use sapwood_table::pool::wait;
use sapwood_tfile::write::{DirectoryId, FileStamp, FileWriter};
use std::sync::Arc;

/// What an output is made for.
pub(super) struct Target<'a> {
    pub(super) opened: &'a ChainInput,
    pub(super) options: &'a ChainOptions,
    pub(super) compression: Compression,
}

/// Products and layout of the stripes to write.
pub(super) struct StripePlan {
    parts: Vec<InputProduct>,
    layout: SegmentLayout,
}

impl StripePlan {
    /// The stripes for a source; none if it has no columns.
    pub(super) fn new(opened: &ChainInput, options: &ChainOptions) -> StripePlan {
        let (mut parts, mut bytes, mut sizes) = (Vec::new(), Vec::new(), opened.sizes.iter());
        for product in opened.template.iter().flat_map(|template| &template.products) {
            bytes.push(sizes.by_ref().take(product.branches.len()).copied().collect::<Vec<_>>());
            parts.push(InputProduct { name: product.name.clone(), branches: product.branches.clone() });
        }
        let (batch, entries) = (Some(options.batch), Some(opened.entries.max(1)));
        let layout = plan(&bytes, &LayoutOptions { batch, entries, ..options.layout.clone() });
        StripePlan { parts, layout }
    }

    /// The entries of a stripe, for each column.
    fn of_columns(&self) -> Vec<u64> {
        stripe_entries(&self.layout, &self.parts)
    }
}

/// Opens an output. Returns it with the form of batches that it takes.
pub(super) fn open_output<'o>(
    output: ChainOutput,
    target: &Target<'o>,
    stripes: &'o StripePlan,
    call: &mut Call<'_>,
) -> Result<(Box<dyn Output + 'o>, Pack)> {
    let Target { opened, options, compression } = *target;
    let deadline = call.deadline();
    let whole = || Pack::Baskets {
        stripes: vec![options.batch; opened.columns.len()],
        events: None,
        encoding: BasketEncoding::Root,
    };
    let template = || {
        opened.template.as_ref().ok_or_else(|| Error::usage("a source without columns has nothing to write"))
    };
    Ok(match output {
        ChainOutput::Nothing => (Box::new(NoOutput), whole()),
        ChainOutput::Discard => stripe_output(Arc::new(DiscardStore), None, target, stripes, deadline)?,
        ChainOutput::Stripes(place) => {
            let template = template()?;
            let dataset = new_dataset(&place, template, call)?;
            let held = WriterLease::begin(&dataset, call)?;
            let store = Arc::clone(dataset.store());
            stripe_output(store, Some(Commit { dataset, template, held }), target, stripes, deadline)?
        }
        ChainOutput::Root(sink, name) => {
            let template = template()?;
            let file = FileWriter::new(&name, "", compression, FileStamp::now())?;
            let mut output = RootFile::new(file, sink);
            for schema in &template.schemas {
                let file = &schema.tree.file;
                let record = file.root().parse(call, |tfile, known| tfile.streamers_record(known))?;
                let version = file.header().version;
                record.map(|record| output.file.descriptions().add_record(&record, version)).transpose()?;
            }
            let tree = UnionTreeWriter::new(template, call)?;
            let directory = output.directory(tree.parent(&template.tree), None)?;
            let batch = options.batch;
            let made = RootOutput { output, tree, directory, template, batch, entries: 0, compression };
            (Box::new(made), whole())
        }
        ChainOutput::Flat(sink) => {
            (Box::new(FlatOutput::new(sink, template()?, &opened.columns, options.batch)?), Pack::Flat)
        }
    })
}

/// Opens an output of stripes.
fn stripe_output<'o>(
    store: Arc<dyn Store>,
    commit: Option<Commit<'o>>,
    target: &Target<'o>,
    stripes: &'o StripePlan,
    deadline: Deadline,
) -> Result<(Box<dyn Output + 'o>, Pack)> {
    let (uploads, stripe_writer) =
        (Uploads::new(store, deadline)?, StripeWriter::new(&stripes.parts, &stripes.layout));
    let columns = target.opened.events.clone();
    let events = columns.as_ref().map(|_| EventNumbers::default());
    let made = StripeOutput { uploads, stripe_writer, entries: 0, events, commit, stripes };
    Ok((
        Box::new(made),
        Pack::Baskets { stripes: stripes.of_columns(), events: columns, encoding: BasketEncoding::Stripe },
    ))
}

struct NoOutput;

impl Output for NoOutput {
    fn put(&mut self, _: u64, _: u64, _: LaneOutput, _: &mut Call<'_>) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>, _: &mut Call<'_>) -> Result<(u64, u64)> {
        Ok((0, 0))
    }
}

/// A dataset without entries.
fn new_dataset(place: &DatasetLocation, template: &Template, call: &mut Call<'_>) -> Result<Dataset> {
    let (store, log) = place.parts();
    let made = provenance();
    let dataset = Dataset::open_or_create(store, log, &template.tree, made, call.deadline());
    let dataset = wait(dataset, call)?;
    if !dataset.snapshot().segments.is_empty() {
        let error = Error::usage("a dataset already exists here").url(place.url());
        return Err(error.hint("choose another output for the chain"));
    }
    Ok(dataset)
}

fn provenance() -> Provenance {
    let tool = concat!("sapwood ", env!("CARGO_PKG_VERSION")).to_owned();
    let parameters = [("made by".to_owned(), "sapwood bench chain".to_owned())].into();
    Provenance { tool, parameters, ..Provenance::default() }
}

struct StripeOutput<'o> {
    uploads: Uploads,
    stripe_writer: StripeWriter<'o>,
    entries: u64,
    /// None if the events are not numbered, or not uniquely.
    events: Option<EventNumbers>,
    /// None if nothing is kept.
    commit: Option<Commit<'o>>,
    stripes: &'o StripePlan,
}

/// A dataset to commit to, and the lease for that.
struct Commit<'o> {
    dataset: Dataset,
    template: &'o Template,
    held: WriterLease,
}

impl Output for StripeOutput<'_> {
    fn put(&mut self, first: u64, entries: u64, made: LaneOutput, call: &mut Call<'_>) -> Result<()> {
        let Baskets { columns: baskets, events } = baskets_of(made)?;
        self.entries += entries;
        if !self.events.as_mut().zip(events).is_some_and(|(known, new)| known.add(&new)) {
            self.events = None;
        }
        self.stripe_writer.write(CutBatch { first, entries, baskets }, &mut self.uploads, call)
    }

    fn finish(self: Box<Self>, call: &mut Call<'_>) -> Result<(u64, u64)> {
        let StripeOutput { mut uploads, stripe_writer, entries, events, commit, stripes } = *self;
        let lists = stripe_writer.finish(&mut uploads, call)?;
        let events = events.map(|events| put_object(events.index()?.encode()?, &mut uploads, call));
        let events = events.transpose()?;
        uploads.finish(call)?;
        if let Some(Commit { dataset, template, held }) = commit {
            let segment = NewSegment {
                entries,
                batch: stripes.layout.batch,
                lists: stripes.parts.iter().map(|part| part.name.clone()).zip(lists).collect(),
                events,
                auxiliary: None,
            };
            let change = Change::Append { products: template.new_products(), segments: vec![segment] };
            let committed = held.commit(&dataset, &change, provenance(), call);
            held.end_after(committed)?;
        }
        Ok((uploads.sent, uploads.objects))
    }
}

struct RootOutput<'o> {
    output: RootFile,
    tree: UnionTreeWriter,
    directory: DirectoryId,
    template: &'o Template,
    batch: u64,
    entries: u64,
    compression: Compression,
}

impl Output for RootOutput<'_> {
    fn put(&mut self, first: u64, entries: u64, made: LaneOutput, _: &mut Call<'_>) -> Result<()> {
        let mut columns = baskets_of(made)?.columns.into_iter();
        let mut baskets = Vec::new();
        for (number, product) in self.template.products.iter().enumerate() {
            for (branch, column) in columns.by_ref().take(product.branches.len()).enumerate() {
                baskets.extend(column.into_iter().map(|basket| ProductBasket {
                    product: number,
                    branch,
                    first_entry: first,
                    entries,
                    record: basket.record,
                }));
            }
        }
        self.entries += entries;
        let mut report = RepackReport::default();
        self.tree.place(baskets, self.directory, 0, &mut self.output, &mut report)
    }

    fn finish(mut self: Box<Self>, _: &mut Call<'_>) -> Result<(u64, u64)> {
        self.tree.end_segment(self.entries, self.batch);
        self.tree.finish(self.directory, self.compression, &mut self.output)?;
        Ok((self.output.commit()?, 1))
    }
}

fn baskets_of(made: LaneOutput) -> Result<Baskets> {
    match made {
        LaneOutput::Baskets(baskets) => Ok(baskets),
        LaneOutput::Nothing | LaneOutput::Block(_) => {
            Err(Error::corrupt("the baskets of a batch were not made"))
        }
    }
}
