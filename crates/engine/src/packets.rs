//! Packets of one TCP port on the loopback as the kernel sees them, each with the kernel's time stamp (`packet(7)`).

#![allow(unsafe_code)] // Packet sockets, their filters and their time stamps have no safe interface.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Packets that wait here until they are taken. At some 1 kB each, however small, they fill it in a second at 60,000/s.
const BUFFER_BYTES: libc::c_int = 64 << 20;
/// No IP packet is larger. On the loopback, a packet holds what was written at once.
const LARGEST_BYTES: usize = 1 << 16;
/// Two packets are sent so far apart to see whether each has a time stamp of its own.
const STAMPS_APART: Duration = Duration::from_millis(5);
/// For a second.
const STAMPS_TRIED_MAX: u32 = 200;
/// Room for one time stamp, in words of eight bytes: a header and two numbers.
const CONTROL_WORDS: usize = 8;

/// A socket that sees what comes in on the loopback: each packet once, requests and answers alike.
#[derive(Debug)]
pub struct Packets {
    socket: OwnedFd,
    buffer: Vec<u8>,
    dropped: u64,
    /// Packets that came without a time stamp or larger than can be.
    unusable: u64,
}

impl Packets {
    /// From now on, those of TCP over IPv4 from or to this port. It takes CAP_NET_RAW.
    pub fn of_port(port: u16) -> io::Result<Packets> {
        // Protocol 0: nothing comes before the filter is there.
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is open, and nobody else has it.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let filter = filter(port);
        let program = libc::sock_fprog { len: filter.len() as _, filter: filter.as_ptr().cast_mut() };
        set(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
        set(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)?;
        // Beyond the system's limit only for those who may.
        set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &BUFFER_BYTES)
            .or_else(|_| set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, &BUFFER_BYTES))?;
        // Each packet once: as it comes in.
        set(fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
        wait_for_stamps()?;
        bind(fd)?;
        Ok(Packets { socket, buffer: vec![0; LARGEST_BYTES], dropped: 0, unusable: 0 })
    }

    /// All that have come, in their order: when (ns since 1970), and the packet from its IP header on. Never waits.
    pub fn take(&mut self, mut each: impl FnMut(u64, &[u8])) -> io::Result<()> {
        loop {
            match receive(self.socket.as_raw_fd(), &mut self.buffer) {
                Ok((Some(stamp_ns), bytes)) => each(stamp_ns, &self.buffer[..bytes]),
                Ok((None, _)) => self.unusable += 1,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// How many were lost so far, because nobody took them in time.
    pub fn lost(&mut self) -> io::Result<u64> {
        // SAFETY: all zeroes is a valid value of this structure of numbers.
        let mut counts: libc::tpacket_stats = unsafe { std::mem::zeroed() };
        let mut length = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the structure lives for the call, and `length` is its size. The kernel writes no more than that.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut counts).cast(),
                &raw mut length,
            )
        };
        check(result)?;
        // Reading them sets them back to 0.
        self.dropped += u64::from(counts.tp_drops);
        Ok(self.dropped + self.unusable)
    }
}

/// The kernel stamps packets from a moment after it was first asked to. What comes before gets the time at which it is read, which
/// would be no time of the packet: so two packets that lie apart must be seen apart although both are read at once.
fn wait_for_stamps() -> io::Result<()> {
    let own = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = own.local_addr()?;
    set(own.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)?;
    let mut buffer = [0; 8];
    for _ in 0..STAMPS_TRIED_MAX {
        own.send_to(b"1", address)?;
        std::thread::sleep(STAMPS_APART);
        own.send_to(b"2", address)?;
        let (first, _) = receive(own.as_raw_fd(), &mut buffer)?;
        let (second, _) = receive(own.as_raw_fd(), &mut buffer)?;
        let apart_ns = first.zip(second).map_or(0, |(first, second)| second.saturating_sub(first));
        if u128::from(apart_ns) >= STAMPS_APART.as_nanos() / 2 {
            return Ok(());
        }
    }
    Err(io::Error::other("the kernel does not stamp what comes in"))
}

/// Lets whole TCP packets with this port at either end pass.
fn filter(port: u16) -> [libc::sock_filter; 11] {
    let of = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let jump = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
    let (load, jump_if) = (libc::BPF_LD | libc::BPF_ABS, libc::BPF_JMP | libc::BPF_K);
    let port = u32::from(port);
    [
        // The protocol is TCP …
        of(load | libc::BPF_B, 9),
        jump(jump_if | libc::BPF_JEQ, libc::IPPROTO_TCP as u32, 0, 7),
        // … of a packet that is no fragment …
        of(load | libc::BPF_H, 6),
        jump(jump_if | libc::BPF_JSET, 0x3fff, 5, 0),
        // … and behind the IP header, which is as long as it says, are the two ports.
        of(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0),
        of(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, 0),
        jump(jump_if | libc::BPF_JEQ, port, 3, 0),
        of(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, 2),
        jump(jump_if | libc::BPF_JEQ, port, 1, 0),
        of(libc::BPF_RET | libc::BPF_K, 0),
        of(libc::BPF_RET | libc::BPF_K, u32::MAX),
    ]
}

/// The socket sees what comes in on the loopback from now on. It asks for all protocols, because the kernel shows those packets
/// to it before it hands them to TCP: with IPv4 alone it does so afterwards, and an answer may be seen before its request.
fn bind(fd: RawFd) -> io::Result<()> {
    // SAFETY: all zeroes is a valid value of this structure of numbers.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: the name ends with a zero, and the call only reads it.
    let index = unsafe { libc::if_nametoindex(c"lo".as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    address.sll_ifindex = index as i32;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address lives for the call, which only reads `length` bytes of it: all of them.
    check(unsafe { libc::bind(fd, (&raw const address).cast(), length) })
}

fn set<T>(fd: RawFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value lives for the call, which only reads `length` bytes of it: all of them. What a filter points to lives
    // in the caller, and the kernel copies it.
    check(unsafe { libc::setsockopt(fd, level, option, std::ptr::from_ref(value).cast(), length) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// One packet: its time stamp, `None` where it can't be used, and its length in `buffer`.
fn receive(fd: RawFd, buffer: &mut [u8]) -> io::Result<(Option<u64>, usize)> {
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = [0_u64; CONTROL_WORDS];
    // SAFETY: all zeroes is a valid value of this structure: null pointers with lengths of 0. It has fields in musl that it
    // lacks in glibc.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: `message` points to `part` and `control`, and `part` to `buffer`, each with its own length; all of them live for
    // the call.
    let bytes = unsafe { libc::recvmsg(fd, &raw mut message, libc::MSG_DONTWAIT) };
    let bytes = usize::try_from(bytes).map_err(|_| io::Error::last_os_error())?;
    let is_cut = message.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0;
    Ok((stamp_ns(&message).filter(|_| !is_cut), bytes))
}

/// The time stamp that came with a message.
fn stamp_ns(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has filled in `msg_control`, which is still there, and the length that it used of it.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: it is not null, so it lies in the control buffer, which is aligned for it.
        let (level, kind) = unsafe { ((*header).cmsg_level, (*header).cmsg_type) };
        if (level, kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
            // SAFETY: behind a header of this kind is a `timespec`, maybe not aligned for one.
            let time: libc::timespec =
                unsafe { libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned() };
            let (s, ns) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
            return Some(s * 1_000_000_000 + ns);
        }
        // SAFETY: both belong together, as above.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// What the filter says of a packet, by the rules of BPF.
    fn passes(port: u16, packet: &[u8]) -> bool {
        let program = filter(port);
        let byte = |at: usize| u32::from(packet[at]);
        let half = |at: usize| byte(at) << 8 | byte(at + 1);
        let (mut a, mut x, mut at) = (0, 0, 0);
        loop {
            let step = program[at];
            let k = step.k as usize;
            at += 1;
            match u32::from(step.code) {
                0x30 => a = byte(k),
                0x28 => a = half(k),
                0xb1 => x = (byte(k) & 15) as usize * 4,
                0x48 => a = half(x + k),
                0x15 => at += usize::from(if a == step.k { step.jt } else { step.jf }),
                0x45 => at += usize::from(if a & step.k != 0 { step.jt } else { step.jf }),
                0x06 => return step.k > 0,
                other => panic!("{other:#x}"),
            }
        }
    }

    #[test]
    fn the_filter_passes_both_directions_of_its_port_and_nothing_else() {
        let packet = |protocol: u8, fragment: u16, options: usize, ports: [u16; 2]| {
            let mut packet = vec![0; 40 + options];
            packet[0] = 0x45 + (options / 4) as u8;
            packet[6..8].copy_from_slice(&fragment.to_be_bytes());
            packet[9] = protocol;
            for (i, port) in ports.iter().enumerate() {
                packet[20 + options + 2 * i..][..2].copy_from_slice(&port.to_be_bytes());
            }
            packet
        };
        for options in [0, 12] {
            assert!(passes(6379, &packet(6, 0x4000, options, [6379, 50_000])));
            assert!(passes(6379, &packet(6, 0, options, [50_000, 6379])));
            assert!(!passes(6379, &packet(6, 0, options, [50_000, 6380])));
        }
        assert!(!passes(6379, &packet(17, 0, 0, [6379, 6379])), "UDP");
        assert!(!passes(6379, &packet(6, 0x2000, 0, [6379, 50_000])), "more fragments follow");
        assert!(!passes(6379, &packet(6, 0x0001, 0, [6379, 50_000])), "a later fragment");
    }

    #[test]
    fn what_goes_over_the_loopback_is_seen_once_and_in_its_order() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let mut packets = match Packets::of_port(port) {
            Ok(packets) => packets,
            // Without CAP_NET_RAW there is nothing to be seen, and it must say so.
            Err(error) => return assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        };
        // Somebody who answers at once, on another thread.
        let answering = std::thread::spawn(move || {
            let (mut server, _) = listener.accept().expect("a connection");
            let mut asked = [0; 4];
            while server.read_exact(&mut asked).is_ok() {
                server.write_all(b"told").expect("it is sent");
            }
        });
        let mut client = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        let mut told = [0; 4];
        for _ in 0..5_000 {
            client.write_all(b"tell").expect("it is sent");
            client.read_exact(&mut told).expect("it comes");
        }
        drop(client);
        answering.join().expect("it ends");
        let mut seen: Vec<(u64, Vec<u8>)> = Vec::new();
        packets.take(|stamp_ns, bytes| seen.push((stamp_ns, bytes.to_vec()))).expect("they are read");
        assert!(seen.iter().all(|(_, bytes)| bytes[0] >> 4 == 4), "from the IP header on");
        seen.retain(|(_, bytes)| bytes.ends_with(b"tell") || bytes.ends_with(b"told"));
        assert_eq!((seen.len(), packets.lost().expect("a count")), (10_000, 0));
        // A request, its answer, the next one.
        let said = |(i, (_, bytes)): (usize, &(u64, Vec<u8>))| bytes.ends_with([b"tell", b"told"][i % 2]);
        assert!(seen.iter().enumerate().all(said));
        // Each processor stamps what it takes in, and one clock may be ahead of the other by microseconds.
        let mut latest_ns = 0;
        for (stamp_ns, _) in &seen {
            latest_ns = latest_ns.max(*stamp_ns);
            assert!(latest_ns - stamp_ns < 1_000_000, "{} ns back", latest_ns - stamp_ns);
        }
    }
}
