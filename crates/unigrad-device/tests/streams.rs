//! Streams on a device whose queues run in any order that marks allow, chosen at random: work must see what was given before it, whatever
//! the order; and errors of the methods that only such devices need.

use std::{
    any::Any,
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};
use unigrad_device::{
    Abilities, Buffer, Device, Discovery, Driver, Error, Exchange, Executable, Info, Marks, OpenDevice, Origin, Peers, Range, RawBuffer,
    Slice, Stream, Timeline, register,
    testing::{Failure, Faults, FaultyDriver, Operation},
};

type Memory = HashMap<u64, Vec<u8>>;

enum Op {
    Run(Box<dyn FnOnce(&mut Memory) + Send>),
    Mark(usize),
    Wait(usize),
}

#[derive(Default)]
struct Machine {
    queues: Vec<VecDeque<Op>>,
    memory: Memory,
    n_marks: usize,
    reached: Vec<usize>,
    n_handles: u64,
    random: u64,
}

impl Machine {
    fn random(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.random >> 33) as usize % below
    }

    /// Runs one piece of work of a queue, if it may.
    fn step(&mut self, queue: usize) -> bool {
        match self.queues[queue].pop_front() {
            None => return false,
            Some(Op::Wait(mark)) if !self.reached.contains(&mark) => {
                self.queues[queue].push_front(Op::Wait(mark));
                return false;
            }
            Some(Op::Wait(_)) => {}
            Some(Op::Mark(mark)) => self.reached.push(mark),
            Some(Op::Run(work)) => work(&mut self.memory),
        }
        true
    }

    fn run_until(&mut self, done: impl Fn(&Machine) -> bool) {
        let mut idle = 0;
        while !done(self) {
            let queue = self.random(self.queues.len());
            idle = if self.step(queue) { 0 } else { idle + 1 };
            assert!(idle < 100_000, "queues wait for each other");
        }
    }
}

struct Queue {
    machine: Arc<Mutex<Machine>>,
    number: usize,
}

impl Queue {
    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap()
    }

    fn push(&self, op: Op) {
        let number = self.number;
        self.machine().queues[number].push_back(op);
    }

    /// Tells machines apart.
    fn identity(&self) -> usize {
        Arc::as_ptr(&self.machine) as usize
    }

    fn copy_within(&self, from: (u64, usize, usize), to: (u64, usize, usize)) {
        self.run(move |memory| {
            let data = part(memory, from).to_vec();
            part(memory, to).copy_from_slice(&data);
        });
    }

    fn run(&self, work: impl FnOnce(&mut Memory) + Send + 'static) {
        self.push(Op::Run(Box::new(work)));
    }
}

fn part(memory: &mut Memory, (handle, offset, len): (u64, usize, usize)) -> &mut [u8] {
    &mut memory.get_mut(&handle).expect("memory that is there")[offset..offset + len]
}

fn place(slice: Slice<'_>) -> (u64, usize, usize) {
    (slice.buffer.handle, slice.offset, slice.len)
}

/// Adds the second argument to the first.
#[derive(Debug)]
struct Add;

impl Executable for Add {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn writes(&self, arg: usize) -> bool {
        arg == 0
    }
}

impl OpenDevice for Queue {
    fn info(&self) -> Info {
        Info { backend: "sim", rank: 1000, software: true, ..Info::default() }
    }

    fn allocate(&self, bytes: usize) -> Result<RawBuffer, Error> {
        let handle = {
            let mut machine = self.machine();
            machine.n_handles += 1;
            machine.n_handles
        };
        self.run(move |memory| assert!(memory.insert(handle, vec![0xAA; bytes]).is_none()));
        Ok(RawBuffer { handle, bytes })
    }

    fn free(&self, buffer: RawBuffer) {
        self.run(move |memory| assert!(memory.remove(&buffer.handle).is_some()));
    }

    fn upload(&self, data: &[u8], to: Slice<'_>) -> Result<(), Error> {
        let (data, to) = (data.to_vec(), place(to));
        self.run(move |memory| part(memory, to).copy_from_slice(&data));
        Ok(())
    }

    fn download(&self, from: Slice<'_>, data: &mut [u8]) -> Result<(), Error> {
        self.synchronize()?;
        data.copy_from_slice(part(&mut self.machine().memory, place(from)));
        Ok(())
    }

    fn copy(&self, from: Slice<'_>, to: Slice<'_>) -> Result<(), Error> {
        self.copy_within(place(from), place(to));
        Ok(())
    }

    fn compile(&self, _: &unigrad_kernel::Kernel) -> Result<Arc<dyn Executable>, Error> {
        Ok(Arc::new(Add))
    }

    fn launch(&self, _: &dyn Executable, args: &[Slice<'_>], _: &[u64], _: Option<Origin>) -> Result<(), Error> {
        let (to, from) = (place(args[0]), place(args[1]));
        self.run(move |memory| {
            let data = part(memory, from).to_vec();
            part(memory, to).iter_mut().zip(data).for_each(|(to, from)| *to = to.wrapping_add(from));
        });
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        let number = self.number;
        self.machine().run_until(|machine| machine.queues[number].is_empty());
        Ok(())
    }

    fn fork(&self) -> Result<Option<Arc<dyn OpenDevice>>, Error> {
        let mut machine = self.machine();
        machine.queues.push(VecDeque::new());
        Ok(Some(Arc::new(Queue { machine: Arc::clone(&self.machine), number: machine.queues.len() - 1 })))
    }
}

impl Abilities for Queue {
    fn marks(&self) -> Option<&dyn Marks> {
        Some(self)
    }

    fn peers(&self) -> Option<&dyn Peers> {
        Some(self)
    }

    fn exchange(&self) -> Option<&dyn Exchange> {
        Some(self)
    }
}

/// Addresses are handles, and other libraries' queues are further ones of the machine.
impl Exchange for Queue {
    fn alignment(&self) -> usize {
        64
    }

    fn adopt(&self, address: u64, _bytes: usize) -> Result<u64, Error> {
        Ok(address)
    }

    fn address(&self, range: Range) -> u64 {
        range.handle
    }

    fn queue(&self) -> Option<u64> {
        Some(self.number as u64)
    }

    fn wait_for_queue(&self, queue: u64) -> Result<(), Error> {
        let theirs = Queue { machine: Arc::clone(&self.machine), number: queue as usize };
        let mark = Timeline::mark(&theirs)?.expect("a mark");
        Timeline::wait_for_peer(self, &mark).map(drop)
    }

    fn queue_waits(&self, queue: u64) -> Result<(), Error> {
        let theirs = Queue { machine: Arc::clone(&self.machine), number: queue as usize };
        let mark = Timeline::mark(self)?.expect("a mark");
        Timeline::wait_for_peer(&theirs, &mark).map(drop)
    }

    fn take_back(&self, queue: u64) -> Result<(), Error> {
        self.wait_for_queue(queue)
    }
}

impl Timeline for Queue {
    /// The machine and the mark's number there.
    type Mark = (usize, usize);

    fn mark(&self) -> Result<Option<(usize, usize)>, Error> {
        let mark = {
            let mut machine = self.machine();
            machine.n_marks += 1;
            machine.n_marks
        };
        self.push(Op::Mark(mark));
        Ok(Some((self.identity(), mark)))
    }

    fn wait(&self, mark: &(usize, usize)) -> Result<(), Error> {
        self.machine().run_until(|machine| machine.reached.contains(&mark.1));
        Ok(())
    }

    fn is_done(&self, mark: &(usize, usize)) -> Result<bool, Error> {
        Ok(self.machine().reached.contains(&mark.1))
    }

    fn elapsed(&self, from: &(usize, usize), to: &(usize, usize)) -> Result<f64, Error> {
        Timeline::wait(self, to)?;
        let reached = &self.machine().reached;
        let place = |mark: &(usize, usize)| reached.iter().position(|at| *at == mark.1).unwrap() as f64;
        Ok(place(to) - place(from))
    }

    fn wait_for_peer(&self, mark: &(usize, usize)) -> Result<bool, Error> {
        if mark.0 == self.identity() {
            self.push(Op::Wait(mark.1));
        }
        Ok(mark.0 == self.identity())
    }
}

impl Peers for Queue {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn copy_from_peer(&self, source: &dyn Any, from: Range, to: Range) -> Result<bool, Error> {
        match source.downcast_ref::<Queue>() {
            Some(source) if Arc::ptr_eq(&source.machine, &self.machine) => {
                self.copy_within((from.handle, from.offset, from.len), (to.handle, to.offset, to.len));
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// Devices with a machine each, and some that are queues of one machine, so that one can copy from another.
#[derive(Default)]
struct Sim {
    together: Arc<Mutex<Machine>>,
}

/// The machines of devices, for another library that uses them.
static OPENED: Mutex<Vec<(usize, Arc<Mutex<Machine>>)>> = Mutex::new(Vec::new());

/// The first of the devices that are of one machine.
const TOGETHER: usize = 90;

impl Driver for Sim {
    fn backend(&self) -> &'static str {
        "sim"
    }

    fn discover(&self) -> Discovery {
        let info = |ordinal| Info { backend: "sim", ordinal, rank: 1000, software: true, ..Info::default() };
        Discovery { devices: (0..96).map(info).collect(), problem: None }
    }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        if ordinal >= TOGETHER {
            let mut machine = self.together.lock().unwrap();
            machine.queues.push(VecDeque::new());
            return Ok(Arc::new(Queue { machine: Arc::clone(&self.together), number: machine.queues.len() - 1 }));
        }
        let machine = Machine { queues: vec![VecDeque::new()], random: ordinal as u64, ..Machine::default() };
        let machine = Arc::new(Mutex::new(machine));
        OPENED.lock().unwrap().push((ordinal, Arc::clone(&machine)));
        Ok(Arc::new(Queue { machine, number: 0 }))
    }
}

fn device(ordinal: usize) -> Device {
    register(Sim::default());
    Device::open(&format!("sim:{ordinal}")).unwrap()
}

/// Random work on random streams, beside the same work done at once on the host.
fn random_work(seed: u64) {
    let device = device(seed as usize);
    let streams: Vec<Stream> = (0..3).map(|_| device.stream().unwrap()).collect();
    assert!(streams.iter().all(Stream::is_separate));
    let mut random = Machine { random: seed.wrapping_mul(77), ..Machine::default() };
    let mut buffers: Vec<(Buffer, Vec<u8>)> = Vec::new();
    for step in 0..300 {
        // One in some hundred is big enough for the queue of copies.
        let size = if random.random(100) == 0 { 1 << 20 } else { 256 };
        let work = |random: &mut Machine, buffers: &mut Vec<(Buffer, Vec<u8>)>| match random.random(6) {
            0 => {
                let data = vec![step as u8; size];
                buffers.push((device.allocate_with(&data).unwrap(), data));
            }
            1 if !buffers.is_empty() => {
                // Its memory goes back to the pool, or to the driver.
                buffers.swap_remove(random.random(buffers.len()));
                if random.random(10) == 0 {
                    device.clear_cache();
                }
            }
            2 if !buffers.is_empty() => {
                let (buffer, data) = &buffers[random.random(buffers.len())];
                assert!(buffer.to_vec().unwrap() == *data, "seed {seed} step {step}");
            }
            3 if !buffers.is_empty() => {
                let (buffer, data) = buffers[random.random(buffers.len())].clone();
                let fresh = device.allocate(data.len()).unwrap();
                fresh.copy_from(0, &buffer, 0, data.len()).unwrap();
                buffers.push((fresh, data));
            }
            _ if buffers.len() > 1 => {
                let (to, from) = (random.random(buffers.len()), random.random(buffers.len()));
                if to != from && buffers[to].1.len() == buffers[from].1.len() {
                    device.launch(&Add, &[buffers[to].0.as_slice(), buffers[from].0.as_slice()], &[]).unwrap();
                    let added = buffers[from].1.clone();
                    buffers[to].1.iter_mut().zip(added).for_each(|(to, from)| *to = to.wrapping_add(from));
                }
                if random.random(4) == 0 {
                    device.checkpoint().unwrap();
                }
            }
            _ => {}
        };
        match random.random(4) {
            0 => work(&mut random, &mut buffers),
            stream => streams[stream - 1].run(|| work(&mut random, &mut buffers)),
        }
    }
    device.synchronize().unwrap();
    for (buffer, data) in &buffers {
        assert!(buffer.to_vec().unwrap() == *data, "seed {seed} at the end");
    }
}

#[test]
fn work_sees_what_was_given_before_it() {
    (0..40).for_each(random_work);
}

/// Frees another library's memory in that library's order.
struct Theirs {
    queue: Arc<Queue>,
    handle: u64,
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let handle = self.handle;
        self.queue.run(move |memory| assert!(memory.remove(&handle).is_some()));
    }
}

/// Memory that goes to and fro between this library's streams and another library's queue, in any order that marks allow.
fn random_exchange(seed: usize) {
    let device = device(seed);
    let machine = OPENED.lock().unwrap().iter().find(|(ordinal, _)| *ordinal == seed).map(|(_, machine)| Arc::clone(machine)).unwrap();
    let number = {
        let mut machine = machine.lock().unwrap();
        machine.queues.push(VecDeque::new());
        machine.queues.len() - 1
    };
    let theirs = Arc::new(Queue { machine, number });
    let streams: Vec<Stream> = (0..2).map(|_| device.stream().unwrap()).collect();
    let mut random = Machine { random: seed as u64 * 101 + 7, ..Machine::default() };
    let mut buffers: Vec<(Buffer, u8)> = Vec::new();
    let mut loans = Vec::new();
    for step in 0..200 {
        let value = step as u8;
        let mut work = |random: &mut Machine| match random.random(5) {
            0 => {
                // They write; we read where it lies.
                let handle = {
                    let mut machine = theirs.machine();
                    machine.n_handles += 1;
                    machine.n_handles
                };
                theirs.run(move |memory| assert!(memory.insert(handle, vec![value; 256]).is_none()));
                device.wait_for_queue(number as u64).unwrap();
                // SAFETY: the simulated machine checks every access.
                let buffer = unsafe { device.adopt(handle, 256, Box::new(Theirs { queue: Arc::clone(&theirs), handle })) }.unwrap();
                assert!(buffer.is_adopted() && buffer.upload(0, &[0; 256]).is_err());
                buffers.push((buffer, value));
            }
            1 => buffers.push((device.allocate_with(&[value; 256]).unwrap(), value)),
            2 if !buffers.is_empty() => {
                let (from, value) = buffers[random.random(buffers.len())].clone();
                let fresh = device.allocate(256).unwrap();
                fresh.copy_from(0, &from, 0, 256).unwrap();
                buffers.push((fresh, value));
            }
            3 if !buffers.is_empty() => {
                // They read; then, maybe long before they have, nothing here needs it any more.
                let (buffer, value) = buffers.swap_remove(random.random(buffers.len()));
                let loan = buffer.lend(Some(number as u64)).unwrap();
                let place = (loan.address(), 0, 256);
                theirs.run(move |memory| assert_eq!(part(memory, place), [value; 256], "seed {seed} step {step}"));
                loans.push(loan);
            }
            _ if !buffers.is_empty() => drop(buffers.swap_remove(random.random(buffers.len()))),
            _ => {}
        };
        match random.random(3) {
            0 => work(&mut random),
            stream => streams[stream - 1].run(|| work(&mut random)),
        }
        if loans.len() > random.random(8) {
            let at = random.random(loans.len());
            streams[at % 2].run(|| drop(loans.swap_remove(at)));
        }
    }
    device.synchronize().unwrap();
    buffers.iter().for_each(|(buffer, value)| assert_eq!(buffer.to_vec().unwrap(), [*value; 256], "seed {seed} at the end"));
    drop((buffers, loans));
    theirs.synchronize().unwrap();
}

#[test]
fn memory_is_exchanged_in_order() {
    (50..90).for_each(random_exchange);
}

#[test]
fn what_was_done_before_the_first_stream_comes_before_its_work() {
    let device = device(44);
    let buffers: Vec<Buffer> = (0..20).map(|i| device.allocate_with(&[i; 256]).unwrap()).collect();
    let streams = [device.stream().unwrap(), device.stream().unwrap()];
    let copied = |buffer: &Buffer| -> Result<Vec<u8>, Error> {
        let copy = device.allocate(256)?;
        copy.copy_from(0, buffer, 0, 256)?;
        copy.to_vec()
    };
    let mut kept = Vec::new();
    // The last ones first: most of the main queue is still to come then.
    for (i, buffer) in buffers.iter().enumerate().rev() {
        // Some are read by the main queue first: what reads after it still comes after the write.
        if i % 2 == 0 {
            let copy = device.allocate(256).unwrap();
            copy.copy_from(0, buffer, 0, 256).unwrap();
            kept.push(copy);
        }
        for stream in &streams {
            assert_eq!(stream.run(|| copied(buffer)).unwrap(), [i as u8; 256]);
        }
    }
}

#[test]
fn streams_nest_and_give_their_queues_back() {
    let device = device(47);
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let numbers = a.run(|| (device.current_stream(), b.run(|| device.current_stream()), device.current_stream()));
    assert_eq!(numbers.0, numbers.2);
    assert!(numbers.0 != numbers.1 && device.current_stream() == 0);
    drop(a);
    let c = device.stream().unwrap();
    assert_eq!(c.run(|| device.current_stream()), numbers.0, "a queue is used again");
}

#[test]
fn events_order_what_no_buffer_connects() {
    let device = device(46);
    let side = device.stream().unwrap();
    let buffer = side.run(|| device.allocate_with(&[1; 256])).unwrap();
    let event = side.record().unwrap();
    device.wait_for(&event).unwrap();
    event.wait().unwrap();
    side.synchronize().unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [1; 256]);
}

#[test]
fn devices_copy_from_each_other_in_order() {
    let (a, b) = (device(TOGETHER), device(TOGETHER + 1));
    for i in 0..50 {
        let source = a.allocate_with(&[i; 256]).unwrap();
        let copy = b.allocate(256).unwrap();
        copy.copy_from(0, &source, 0, 256).unwrap();
        // Its memory is written again by the next round, after the copy.
        drop(source);
        assert_eq!((copy.to_vec().unwrap(), a.counters().downloads), (vec![i; 256], 0), "never through the host");
    }
    // Machines that know nothing of each other copy through the host.
    let stranger = device(45);
    let copy = stranger.allocate(256).unwrap();
    copy.copy_from(0, &a.allocate_with(&[9; 256]).unwrap(), 0, 256).unwrap();
    assert_eq!((copy.to_vec().unwrap(), a.counters().downloads), (vec![9; 256], 1));
}

#[test]
fn every_method_for_queues_fails_as_a_value() {
    let faults = Faults::default();
    assert!(register(FaultyDriver::new("faulty-sim", Sim::default(), faults.clone())));
    let names = [TOGETHER, TOGETHER + 1].map(|ordinal| format!("faulty-sim:{ordinal}"));
    let work = |operation: Operation| -> Result<(), Error> {
        let [a, b] = [Device::open(&names[0])?, Device::open(&names[1])?];
        let bystander = a.allocate_with(&[1; 256])?;
        let used = a.memory_stats().allocated;
        let attempt = || -> Result<(), Error> {
            let side = a.stream()?;
            let made = side.run(|| a.allocate_with(&[2; 256]))?;
            let early = a.record()?;
            let sum = a.allocate_with(&[3; 256])?;
            a.launch(&Add, &[sum.as_slice(), made.as_slice()], &[])?;
            let late = a.record()?;
            late.wait()?;
            assert!(late.is_done()?);
            assert!(late.seconds_since(&early)?.is_some_and(|seconds| seconds > 0.0));
            let copy = b.allocate(256)?;
            copy.copy_from(0, &sum, 0, 256)?;
            assert_eq!(copy.to_vec()?, [5; 256]);
            Ok(())
        };
        let result = attempt();
        if !a.is_lost() && !b.is_lost() {
            assert_eq!(a.memory_stats().allocated, used, "{operation:?} leaked");
            assert_eq!(bystander.to_vec()?, [1; 256], "{operation:?}");
        }
        result
    };
    let all = [
        Operation::Mark,
        Operation::IsDone,
        Operation::Wait,
        Operation::Elapsed,
        Operation::WaitForPeer,
        Operation::Fork,
        Operation::CopyFromPeer,
    ];
    for operation in all {
        for failure in [Failure::Refused, Failure::Lost] {
            // Forks are kept for the next stream, so only a device that was just opened makes one.
            if operation == Operation::Fork {
                faults.fail(Operation::Health, 0, Failure::Lost);
                assert!(Device::open(&names[0]).unwrap().health().is_err());
            }
            faults.fail(operation, 0, failure);
            let error = work(operation).expect_err("it was made to fail");
            assert!(faults.is_empty(), "{operation:?} was not called");
            let lost = matches!(error, Error::DeviceLost { .. });
            assert_eq!(lost, failure == Failure::Lost, "{operation:?}: {error}");
            work(operation).unwrap_or_else(|error| panic!("{operation:?}: the next attempt works: {error}"));
        }
    }
}
