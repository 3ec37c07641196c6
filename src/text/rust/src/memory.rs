//! Limits of one template rendering: live memory and wall time.
//!
//! The allocator counts what the current thread holds; operators, filters and output ask `check()`
//! before they work. A failed allocation would abort the process, so growth is refused before it
//! happens. Counters are per thread; a value freed on another thread only makes them conservative.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

use minijinja::{Error, ErrorKind};

/// Longest string and longest list that a template may build.
pub const MAX_STRING_BYTES: usize = 16 << 20;
pub const MAX_LIST_ITEMS: usize = 1 << 20;

const MAX_LIVE_BYTES: i64 = 512 << 20;
const MAX_SECONDS: u64 = 20;

thread_local! {
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static LIMIT: Cell<Option<(i64, Instant)>> = const { Cell::new(None) };
}

pub struct CountingAllocator;

fn count(delta: i64) {
    // The thread may be past the destruction of its thread locals.
    let _ = LIVE.try_with(|live| live.set(live.get() + delta));
}

// SAFETY: every call is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        System.alloc(layout)
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        System.alloc_zeroed(layout)
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        System.dealloc(pointer, layout)
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        System.realloc(pointer, layout, size)
    }
}

/// While this value lives, `check` measures against the limits of one rendering.
pub struct RenderLimits(());

impl RenderLimits {
    pub fn start() -> RenderLimits {
        let deadline = Instant::now() + Duration::from_secs(MAX_SECONDS);
        LIMIT.with(|limit| limit.set(Some((LIVE.with(Cell::get) + MAX_LIVE_BYTES, deadline))));
        RenderLimits(())
    }
}

impl Drop for RenderLimits {
    fn drop(&mut self) {
        LIMIT.with(|limit| limit.set(None));
    }
}

/// An error once the rendering holds too much memory or runs too long.
pub fn check() -> Result<(), Error> {
    let Some((bytes, deadline)) = LIMIT.with(Cell::get) else {
        return Ok(());
    };
    if LIVE.with(Cell::get) > bytes {
        return Err(Error::new(ErrorKind::InvalidOperation, "the template uses too much memory"));
    }
    if Instant::now() > deadline {
        return Err(Error::new(ErrorKind::InvalidOperation, "the template runs too long"));
    }
    Ok(())
}

/// An error if a string of `bytes` bytes is more than a template may build.
pub fn check_string(bytes: Option<usize>) -> Result<(), Error> {
    check()?;
    match bytes {
        Some(bytes) if bytes <= MAX_STRING_BYTES => Ok(()),
        _ => Err(Error::new(ErrorKind::InvalidOperation, "the template builds too long a string")),
    }
}

/// The same for a list of `items` items.
pub fn check_list(items: Option<usize>) -> Result<(), Error> {
    check()?;
    match items {
        Some(items) if items <= MAX_LIST_ITEMS => Ok(()),
        _ => Err(Error::new(ErrorKind::InvalidOperation, "the template builds too long a list")),
    }
}
