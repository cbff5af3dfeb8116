//! An HTTP server on loopback that answers as it is told, and remembers what it was asked.
//!
//! HTTP/1.1 with connections that are kept, a thread each: enough to be an index, a proxy that talks HTML,
//! or a server that breaks off in the middle.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::Digest as _;

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status; 0 closes the connection instead.
    pub status: u16,
    /// Headers, `Content-Length` aside.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// How long to wait before answering.
    pub delay: Duration,
    /// After how many bytes of the body the connection is closed, whatever was promised.
    pub cut_at: Option<usize>,
    /// Whether `Range` is heeded.
    pub has_ranges: bool,
    /// How the body comes, where it does not come at once.
    pub manner: Manner,
}

/// How a body is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Manner {
    /// At once, with its length.
    #[default]
    AtOnce,
    /// A byte at a time, with a pause between.
    Trickle(Duration),
    /// Its first line once, and the rest again and again, without a length, until nobody listens any more.
    Endless,
    /// At once, with this length said instead of its own.
    Claiming(u64),
    /// At once, with more promised, which does not come; the connection stays open.
    Stalls,
}

impl Reply {
    /// An answer with a status and nothing else.
    pub fn status(status: u16) -> Self {
        let (headers, body, delay) = (Vec::new(), Vec::new(), Duration::ZERO);
        Self { status, headers, body, delay, cut_at: None, has_ranges: false, manner: Manner::AtOnce }
    }

    /// No answer at all: the connection is closed.
    pub fn nothing() -> Self {
        Self::status(0)
    }

    /// 200 with a body of some type.
    pub fn ok(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::status(200) }.with("Content-Type", content_type)
    }

    /// A page in JSON (PEP 691).
    pub fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::ok("application/vnd.pypi.simple.v1+json", body)
    }

    /// A page in HTML (PEP 503).
    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::ok("text/html; charset=utf-8", body)
    }

    /// A file, with ranges.
    pub fn file(body: impl Into<Vec<u8>>) -> Self {
        Self { has_ranges: true, ..Self::ok("application/octet-stream", body) }
    }

    /// With one more header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With an `ETag` made from the body; 304 is answered to whoever has it.
    #[must_use]
    pub fn with_etag(self) -> Self {
        let tag: String =
            sha2::Sha256::digest(&self.body).iter().take(8).fold(String::new(), |mut tag, byte| {
                let _ = write!(tag, "{byte:02x}");
                tag
            });
        self.with("ETag", &format!("\"{tag}\""))
    }

    /// Answered late.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Broken off after so many bytes of the body.
    #[must_use]
    pub fn cut(self, at: usize) -> Self {
        Self { cut_at: Some(at), ..self }
    }

    /// With a body that is sent in this manner.
    #[must_use]
    pub fn sent(self, manner: Manner) -> Self {
        Self { manner, ..self }
    }

    /// Without ranges.
    #[must_use]
    pub fn whole_only(self) -> Self {
        Self { has_ranges: false, ..self }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// One request as it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The path, with its query.
    pub path: String,
    /// Headers, names in lower case.
    pub headers: HashMap<String, String>,
    /// The status that it was answered with.
    pub status: u16,
}

/// Answers a path that nothing else was said of.
type Handler = Box<dyn Fn(&str) -> Option<Reply> + Send>;

#[derive(Default)]
struct State {
    handler: Option<Handler>,
    /// By path: answers one after the other, of which the last one stays.
    replies: HashMap<String, Vec<Reply>>,
    seen: Vec<Seen>,
}

/// The server. It ends when it is dropped.
pub struct IndexServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    is_over: Arc<AtomicBool>,
}

impl IndexServer {
    /// Starts a server that knows nothing yet: everything is 404.
    ///
    /// # Panics
    /// Where loopback can't be listened on.
    #[expect(clippy::new_without_default, reason = "starting a server is no default value")]
    pub fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("to listen on loopback");
        let address = listener.local_addr().expect("an address");
        let (state, is_over) = (Arc::new(Mutex::new(State::default())), Arc::new(AtomicBool::new(false)));
        let server = Self { address, state: state.clone(), is_over: is_over.clone() };
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                if is_over.load(Ordering::Acquire) {
                    break;
                }
                let (Ok(connection), state, is_over) = (connection, state.clone(), is_over.clone()) else {
                    continue;
                };
                std::thread::spawn(move || serve(&connection, &state, &is_over));
            }
        });
        server
    }

    /// The address of a path, which begins with `/`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The address of a path with credentials in it.
    pub fn url_with(&self, credentials: &str, path: &str) -> String {
        format!("http://{credentials}@{}{path}", self.address)
    }

    /// The host and port.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// What a path is answered with from now on.
    pub fn put(&self, path: &str, reply: Reply) {
        self.script(path, vec![reply]);
    }

    /// What a path is answered with, one after the other; the last answer stays.
    pub fn script(&self, path: &str, replies: Vec<Reply>) {
        self.state().replies.insert(path.to_owned(), replies);
    }

    /// Lets paths that nothing was said of be answered by a function; `None` is 404.
    pub fn handle(&self, handler: impl Fn(&str) -> Option<Reply> + Send + 'static) {
        self.state().handler = Some(Box::new(handler));
    }

    /// What was asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    /// What was asked so far, and the memory of it cleared: `status path` each, sorted.
    pub fn take_log(&self) -> Vec<String> {
        let seen = std::mem::take(&mut self.state().seen);
        let mut log: Vec<String> = seen.iter().map(|seen| format!("{} {}", seen.status, seen.path)).collect();
        log.sort();
        log
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for IndexServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // Wakes the thread that waits for a connection.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(connection: &TcpStream, state: &Mutex<State>, is_over: &AtomicBool) {
    let mut reader = BufReader::new(connection);
    while let Some((path, headers)) = read_request(&mut reader) {
        let reply = {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let reply = match state.replies.get_mut(&path) {
                Some(replies) if replies.len() > 1 => replies.remove(0),
                Some(replies) => replies.first().cloned().unwrap_or_else(|| Reply::status(404)),
                None => state
                    .handler
                    .as_ref()
                    .and_then(|handler| handler(&path))
                    .unwrap_or_else(|| Reply::status(404)),
            };
            let (status, ..) = shape(&reply, &headers);
            state.seen.push(Seen { path, headers: headers.clone(), status });
            reply
        };
        std::thread::sleep(reply.delay);
        if is_over.load(Ordering::Acquire) || reply.status == 0 || !answer(connection, &reply, &headers) {
            break;
        }
    }
    let _ = connection.shutdown(std::net::Shutdown::Both);
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<(String, HashMap<String, String>)> {
    let mut line = String::new();
    reader.by_ref().take(1 << 16).read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.by_ref().take(1 << 16).read_line(&mut line).ok()?;
        match line.trim().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => return Some((path, headers)),
        };
    }
}

/// The status, the part of the body, and the header that tells which part.
fn shape<'a>(reply: &'a Reply, headers: &HashMap<String, String>) -> (u16, &'a [u8], Option<String>) {
    let has_it = |asked: &str, header: &str| matches!((headers.get(asked), reply.header(header)), (Some(one), Some(other)) if one == other);
    if reply.status == 200
        && (has_it("if-none-match", "ETag") || has_it("if-modified-since", "Last-Modified"))
    {
        return (304, &[], None);
    }
    let range = headers.get("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let (true, Some((start, end))) = (reply.has_ranges && reply.status == 200, range) else {
        return (reply.status, &reply.body, None);
    };
    let total = reply.body.len();
    let (start, end) = match (start.parse::<usize>(), end.parse::<usize>()) {
        (Ok(start), Ok(end)) => (start, (end + 1).min(total)),
        (Ok(start), Err(_)) => (start, total),
        (Err(_), Ok(last)) => (total.saturating_sub(last), total),
        (Err(_), Err(_)) => return (416, &[], None),
    };
    match reply.body.get(start..end) {
        Some(part) if !part.is_empty() => {
            (206, part, Some(format!("Content-Range: bytes {start}-{}/{total}\r\n", end - 1)))
        }
        _ => (416, &[], None),
    }
}

/// Writes an answer; tells whether the connection goes on.
fn answer(mut connection: &TcpStream, reply: &Reply, headers: &HashMap<String, String>) -> bool {
    let (status, body, range) = shape(reply, headers);
    let mut head = format!("HTTP/1.1 {status} X\r\n");
    let length = match reply.manner {
        _ if status == 304 => None,
        Manner::Endless => None,
        Manner::Claiming(length) => Some(length),
        Manner::Stalls => Some(body.len() as u64 + 100),
        Manner::AtOnce | Manner::Trickle(_) => Some(body.len() as u64),
    };
    if let Some(length) = length {
        let _ = write!(head, "Content-Length: {length}\r\n");
    }
    head.push_str(&range.unwrap_or_default());
    for (name, value) in &reply.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    let sent = reply.cut_at.map_or(body, |at| body.get(..at).unwrap_or(body));
    let is_sent = connection.write_all(head.as_bytes()).and_then(|()| send(connection, sent, reply.manner));
    is_sent.is_ok() && reply.cut_at.is_none() && matches!(reply.manner, Manner::AtOnce | Manner::Trickle(_))
}

fn send(mut connection: &TcpStream, body: &[u8], manner: Manner) -> std::io::Result<()> {
    match manner {
        Manner::AtOnce | Manner::Claiming(_) => connection.write_all(body),
        Manner::Stalls => {
            connection.write_all(body)?;
            // Until the other side has had enough.
            connection.read(&mut [0]).map(drop)
        }
        Manner::Trickle(pause) => body.iter().try_for_each(|byte| {
            std::thread::sleep(pause);
            connection.write_all(&[*byte])
        }),
        Manner::Endless => {
            let (first, rest) =
                body.split_at(body.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1));
            connection.write_all(first)?;
            let rest = rest.repeat((1 << 16) / rest.len().max(1) + 1);
            loop {
                connection.write_all(&rest)?;
            }
        }
    }
}
