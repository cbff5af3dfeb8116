//! The bench's index: nginx on loopback, with TLS, HTTP/2 and the headers that the public index sends.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::recorder::HERE;
use crate::project::output;

/// A running nginx; it ends with this.
pub(crate) struct Server {
    /// The root of the simple index.
    pub(crate) index: String,
    /// The system's certificates and the one of this server, in PEM.
    pub(crate) certificates: PathBuf,
    folder: PathBuf,
    child: Child,
}

/// What nginx did since the last time it was asked.
#[derive(Clone, Default)]
pub(crate) struct Traffic {
    /// Requests that were answered.
    pub(crate) requests: usize,
    /// Bytes of bodies sent.
    pub(crate) bytes: u64,
    /// Requests that had to be recorded first.
    pub(crate) recorded: usize,
    /// Answers that are errors.
    pub(crate) failed: Vec<String>,
    /// What was asked for: path, and what was accepted.
    pub(crate) asked: Vec<(String, String)>,
}

/// Where Debian keeps the certificates that everybody trusts.
const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The program, wherever an administrator's or a user's PATH has it.
fn program(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    found
        .with_context(|| format!("the bench needs {name}; Debian has it: apt-get install nginx openssl curl"))
}

impl Server {
    /// Starts nginx over a site's folder; what is not there is asked of the recorder.
    pub(crate) fn start(site: &Path, folder: &Path, recorder: SocketAddr) -> Result<Self> {
        let nginx = program("nginx")?;
        program("curl")?;
        std::fs::create_dir_all(folder.join("temp"))?;
        std::fs::create_dir_all(site)?;
        let certificates = make_certificates(folder)?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let user = output(Command::new("id").arg("-un"))?;
        let config = config(site, folder, port, recorder, user.trim());
        std::fs::write(folder.join("nginx.conf"), config)?;
        let child = Command::new(&nginx)
            .args(["-p", ".", "-c", "nginx.conf", "-e", "error.log"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("failed to start nginx")?;
        let index = format!("https://localhost:{port}/simple/");
        let mut server = Self { index, certificates, folder: folder.to_owned(), child };
        server.wait_until_up(port)?;
        server.traffic()?;
        Ok(server)
    }

    fn wait_until_up(&mut self, port: u16) -> Result<()> {
        for _ in 0..100 {
            if let Some(status) = self.child.try_wait()? {
                let log = std::fs::read_to_string(self.folder.join("error.log")).unwrap_or_default();
                bail!("nginx ended with {status}\n{log}");
            }
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("nginx does not listen")
    }

    /// What happened since the last call.
    pub(crate) fn traffic(&mut self) -> Result<Traffic> {
        // A line is written after its answer was sent: the last ones may be a moment behind.
        std::thread::sleep(Duration::from_millis(100));
        let log = self.folder.join("access.log");
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).open(&log)?;
        read_traffic(&text)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A kill would leave its workers behind.
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        if asked.is_ok_and(|status| status.success()) {
            let _ended = self.child.wait();
        }
    }
}

fn read_traffic(log: &str) -> Result<Traffic> {
    let mut traffic = Traffic::default();
    for line in log.lines() {
        let [status, upstream, bytes, path, accept] = line.splitn(5, '\t').collect::<Vec<_>>()[..] else {
            bail!("not a line of the access log: {line}");
        };
        traffic.requests += 1;
        traffic.bytes += bytes.parse::<u64>()?;
        match status {
            "200" | "206" if upstream != "-" => traffic.recorded += 1,
            "200" | "206" | "304" => {}
            _ => traffic.failed.push(format!("{status} {path}")),
        }
        traffic.asked.push((path.to_owned(), accept.to_owned()));
    }
    Ok(traffic)
}

/// A certificate for localhost by an authority made for the purpose, and the file of roots that trusts it.
fn make_certificates(folder: &Path) -> Result<PathBuf> {
    let openssl = program("openssl")?;
    let run = |line: &str| -> Result<()> {
        let done = Command::new(&openssl).args(line.split(' ')).current_dir(folder).output()?;
        ensure!(done.status.success(), "openssl {line}: {}", String::from_utf8_lossy(&done.stderr));
        Ok(())
    };
    std::fs::write(
        folder.join("leaf.cnf"),
        "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n",
    )?;
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    run(&format!("req -x509 {key} -keyout ca.key -out ca.pem -days 30 -subj /CN=bench-authority"))?;
    run(&format!("req {key} -keyout leaf.key -out leaf.csr -subj /CN=localhost"))?;
    run(
        "x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile leaf.cnf -out leaf.pem",
    )?;
    let mut roots = std::fs::read_to_string(SYSTEM_ROOTS).unwrap_or_default();
    roots.push_str(&std::fs::read_to_string(folder.join("ca.pem"))?);
    let path = folder.join("roots.pem");
    std::fs::write(&path, roots)?;
    Ok(path)
}

fn config(site: &Path, folder: &Path, port: u16, recorder: SocketAddr, user: &str) -> String {
    let (site, folder) = (site.display(), folder.display());
    let temp: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("  {kind}_temp_path {folder}/temp/{kind};\n"))
        .concat();
    format!(
        r#"daemon off;
user {user};
pid {folder}/nginx.pid;
worker_processes 1;
events {{ worker_connections 1024; }}
http {{
{temp}  log_format lines "$status\t$upstream_addr\t$body_bytes_sent\t$request_uri\t$http_accept";
  access_log {folder}/access.log lines;
  sendfile on;
  tcp_nopush on;
  server_tokens off;
  server {{
    listen 127.0.0.1:{port} ssl http2;
    ssl_certificate leaf.pem;
    ssl_certificate_key leaf.key;
    ssl_protocols TLSv1.2 TLSv1.3;
    keepalive_requests 1000000;
    proxy_read_timeout 900s;
    root {site};
    types {{ }}
    location ~ ^/simple/([^/]+)/$ {{
      default_type application/vnd.pypi.simple.v1+json;
      add_header Cache-Control "max-age=600, public";
      add_header Vary "Accept, Accept-Encoding";
      gzip_static on;
      try_files /simple/$1.json @record;
    }}
    location ~ ^/(?:pypi/)?([^/]+)/json$ {{
      default_type application/json;
      add_header Cache-Control "max-age=900, public";
      gzip on;
      gzip_types application/json;
      sub_filter_types application/json;
      sub_filter_once off;
      sub_filter "{HERE}" "https://localhost:{port}/";
      try_files /pypi/$1.json @record;
    }}
    location /files/ {{
      default_type application/octet-stream;
      add_header Cache-Control "max-age=365000000, immutable, public";
      try_files $uri @record;
    }}
    location @record {{ proxy_pass http://{recorder}; }}
  }}
}}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_access_log_is_counted() {
        let log = "200\t-\t10\t/simple/a/\tx\n304\t-\t0\t/simple/a/\t-\n200\t127.0.0.1:1\t5\t/files/a\t*/*\n404\t127.0.0.1:1\t1\t/simple/no/\t-\n";
        let traffic = read_traffic(log).expect("lines");
        assert_eq!((traffic.requests, traffic.bytes, traffic.recorded), (4, 16, 1));
        assert_eq!(traffic.failed, ["404 /simple/no/"]);
        assert!(read_traffic("nonsense").is_err());
    }
}
