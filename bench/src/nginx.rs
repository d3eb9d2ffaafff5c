//! nginx with a certificate of its own, for what needs TLS. Its status page counts requests.

use crate::process::spawn_on;
use anyhow::{Context, Result, bail};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A private nginx on loopback, ended when dropped.
pub(crate) struct Nginx {
    child: Child,
    folder: tempfile::TempDir,
    /// Plain HTTP, for the status page.
    status_port: u16,
    /// How often the status page was asked for: it counts itself.
    asked: u64,
    /// `https://127.0.0.1:PORT/`.
    pub url: String,
}

impl Nginx {
    /// Starts it on the processor `cpu`; with `close`, a connection is closed after its first answer.
    pub(crate) fn start(cpu: usize, close: bool) -> Result<Nginx> {
        let folder = tempfile::tempdir()?;
        let made = rcgen::generate_simple_self_signed(["localhost".to_string(), "127.0.0.1".to_string()])?;
        std::fs::write(folder.path().join("cert.pem"), made.cert.pem())?;
        std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem())?;
        let (status_port, port) = free_ports()?;
        let path = folder.path().to_str().context("the folder for temporary files has a strange name")?;
        std::fs::write(folder.path().join("nginx.conf"), configuration(path, status_port, port, close))?;
        let mut command = Command::new("nginx");
        command.args(["-p", path, "-e", "error.log", "-c", "nginx.conf"]);
        let child = spawn_on(cpu, command.stdin(Stdio::null()).stdout(Stdio::null()))
            .context("nginx is needed for TLS; install it: apt-get install nginx-light")?;
        let mut nginx =
            Nginx { child, folder, status_port, asked: 0, url: format!("https://127.0.0.1:{port}/") };
        for _ in 0..100 {
            if nginx.requests().is_ok() {
                return Ok(nginx);
            }
            if nginx.child.try_wait()?.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(nginx.folder.path().join("error.log")).unwrap_or_default();
        bail!("nginx does not start: {}", log.trim());
    }

    /// Requests that it has taken until now, without those for this number.
    pub(crate) fn requests(&mut self) -> Result<u64> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.status_port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /requests HTTP/1.0\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        self.asked += 1;
        Ok(all_requests(&page)? - self.asked)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its master ends the worker when it is asked to end, not when it is killed.
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

/// The third number of the line below `server accepts handled requests`.
fn all_requests(page: &str) -> Result<u64> {
    let mut lines = page.lines().skip_while(|line| !line.starts_with("server accepts handled requests"));
    let numbers = lines.nth(1).and_then(|line| line.split_whitespace().nth(2)?.parse().ok());
    numbers.with_context(|| format!("nginx's status page is not understood: {page:?}"))
}

/// Two ports that were free a moment ago.
fn free_ports() -> Result<(u16, u16)> {
    let (a, b) = (TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?);
    Ok((a.local_addr()?.port(), b.local_addr()?.port()))
}

fn configuration(folder: &str, status_port: u16, port: u16, close: bool) -> String {
    let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
    let keepalive = if close { "keepalive_timeout 0;" } else { "keepalive_requests 1000000000;" };
    format!(
        "daemon off; {user} worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 20000; }}
http {{
    access_log off; {keepalive}
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{ listen 127.0.0.1:{status_port}; location / {{ stub_status; }} }}
    server {{
        listen 127.0.0.1:{port} ssl backlog=8192;
        ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
        ssl_session_tickets off; ssl_session_cache off;
        location / {{ return 200 \"hello\\n\"; }}
    }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_page_is_read_or_quoted() {
        // nginx 1.26, Debian.
        let page = "HTTP/1.1 200 OK\r\nServer: nginx\r\n\r\nActive connections: 1 \nserver accepts handled requests\n 3 3 2 \n\
                    Reading: 0 Writing: 1 Waiting: 0 \n";
        assert_eq!(all_requests(page).unwrap(), 2);
        let error = all_requests("HTTP/1.1 404 Not Found\r\n\r\n").unwrap_err().to_string();
        assert!(error.contains("404 Not Found"), "{error}");
    }
}
