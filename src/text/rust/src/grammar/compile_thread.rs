//! Compiling within a time. The library cannot be interrupted, and cost that no rule about the source foresees takes
//! minutes: so each grammar is compiled by a thread of its own, which nobody waits for beyond the time. Such a thread goes on
//! when nothing else wants the processor, until it is through; there are few of them at a time.

use std::os::unix::thread::JoinHandleExt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{sync_channel, RecvTimeoutError};
use std::sync::Arc;
use std::thread::Builder;
use std::time::Duration;

/// Threads that nobody waits for any more.
const MOST_LATE: usize = 4;
static LATE: AtomicUsize = AtomicUsize::new(0);

/// Schemas are intersected by recursion.
const STACK_BYTES: usize = 16 << 20;

/// A limit of zero: as long as it takes, by the thread that asks.
pub fn within<T: Send + 'static>(
    limit: Duration,
    compile: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    if limit.is_zero() {
        return compile();
    }
    if LATE.load(Ordering::Relaxed) >= MOST_LATE {
        return Err("other grammars that take too long are still being compiled: try again later".into());
    }
    let (sender, receiver) = sync_channel(1);
    // Set by who comes first: the thread when it is through, or we when we do not wait any more.
    let is_settled = Arc::new(AtomicBool::new(false));
    let settled = is_settled.clone();
    let thread = Builder::new().name("grammar".into()).stack_size(STACK_BYTES).spawn(move || {
        let made = catch_unwind(AssertUnwindSafe(compile))
            .unwrap_or_else(|_| Err("the library failed to compile it".into()));
        let is_late = settled.swap(true, Ordering::AcqRel);
        let _ = sender.send(made);
        if is_late {
            LATE.fetch_sub(1, Ordering::Relaxed);
        }
    });
    let thread = thread.map_err(|error| format!("no thread to compile it: {error}"))?;
    match receiver.recv_timeout(limit) {
        Ok(made) => return made,
        Err(RecvTimeoutError::Disconnected) => return Err("the library failed to compile it".into()),
        Err(RecvTimeoutError::Timeout) => {}
    }
    LATE.fetch_add(1, Ordering::Relaxed);
    if is_settled.swap(true, Ordering::AcqRel) {
        LATE.fetch_sub(1, Ordering::Relaxed);
        return receiver.recv().unwrap_or_else(|_| Err("the library failed to compile it".into()));
    }
    // SAFETY: the handle lives, so its thread is known; parameters are read only.
    unsafe {
        let parameters = libc::sched_param { sched_priority: 0 };
        libc::pthread_setschedparam(thread.as_pthread_t() as libc::pthread_t, libc::SCHED_IDLE, &parameters);
    }
    Err(format!("it takes more than {} ms to compile", limit.as_millis()))
}
