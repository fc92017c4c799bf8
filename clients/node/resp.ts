/** The Redis protocol on one connection: calls are pipelined, bounded in number, and end at a deadline. */
import net from "node:net";
import tls from "node:tls";

export type Reply = number | string | null | Error | Reply[];

interface Call {
  expected: number;
  replies: Reply[];
  settle: (result: Reply[] | Error) => void;
}

const maxReply = 64 * 1024;

/** Reads one reply at a place: the reply and where it ends, or null if it is incomplete. Throws if it is none. */
export function readReply(data: Buffer, at: number, depth = 0): [Reply, number] | null {
  const end = data.indexOf("\r\n", at);
  if (end < 0) return null;
  const text = data.toString("latin1", at + 1, end);
  const next = end + 2;
  const kind = String.fromCharCode(data[at] ?? 0);
  if (kind === "+") return [text, next];
  if (kind === "-") return [new Error(text), next];
  if (!/^-?\d{1,16}$/.test(text)) throw new Error("the reply is not of the Redis protocol");
  const number = Number(text);
  if (kind === ":") return [number, next];
  if (kind === "$" && number === -1) return [null, next];
  if (kind === "$" && number >= 0 && number <= maxReply) {
    if (data.length < next + number + 2) return null;
    return [data.toString("utf8", next, next + number), next + number + 2];
  }
  if (kind !== "*" || depth > 0 || number < 0 || number > 16) throw new Error("the reply is not of the Redis protocol");
  const values: Reply[] = [];
  let place = next;
  while (values.length < number) {
    const found = readReply(data, place, depth + 1);
    if (!found) return null;
    values.push(found[0]);
    place = found[1];
  }
  return [values, place];
}

export function encode(command: string[]): string {
  return `*${command.length}\r\n` + command.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("");
}

/** A connection to sluice://[:token@]host:port, or sluices:// with TLS. Opened by the first call, and again after a failure. */
export class Connection {
  private socket: net.Socket | undefined;
  private calls: Call[] = [];
  private received = Buffer.alloc(0);
  private readonly url: URL;

  constructor(url: string, private readonly deadlineMs: number, private readonly maxPending: number) {
    this.url = new URL(url);
    if (!/^sluices?:$/.test(this.url.protocol) || !this.url.hostname) {
      throw new Error(`expected sluice://host:port or sluices://host:port, found ${this.url.protocol}`);
    }
    if (!(deadlineMs > 0)) throw new Error(`deadlineMs must be positive, found ${deadlineMs}`);
  }

  /** Sends the commands in one piece. Rejects if not all replies are there within the deadline, or if one is an error. */
  call(...commands: string[][]): Promise<Reply[]> {
    return new Promise((resolve, reject) => {
      if (this.calls.length >= this.maxPending) return reject(new Error("too many calls wait for the rate limiter"));
      // After what has arrived meanwhile. Replies come in order: all later calls are behind the one that is late.
      const late = () => this.calls.includes(call) && this.fail(new Error("no reply within the deadline"));
      const timer = setTimeout(() => setImmediate(late), this.deadlineMs);
      const call: Call = {
        expected: commands.length,
        replies: [],
        settle: (result) => {
          clearTimeout(timer);
          result instanceof Error ? reject(result) : resolve(result);
        },
      };
      const socket = (this.socket ??= this.open());
      this.calls.push(call);
      socket.ref();
      socket.write(commands.map(encode).join(""));
    });
  }

  close(): void {
    this.fail(new Error("the connection is closed"));
  }

  private open(): net.Socket {
    const options = { host: this.url.hostname.replace(/^\[|\]$/g, ""), port: Number(this.url.port || 6380) };
    const socket = this.url.protocol === "sluices:" ? tls.connect({ ...options, servername: options.host }) : net.connect(options);
    socket.setNoDelay(true);
    socket.on("error", (error) => this.fail(error, socket));
    socket.on("close", () => this.fail(new Error("the server closed the connection"), socket));
    socket.on("data", (chunk: Buffer) => this.socket === socket && this.receive(chunk));
    if (this.url.password) {
      const settle = (result: Reply[] | Error) => {
        const error = result instanceof Error ? result : result.find((reply) => reply instanceof Error);
        if (error instanceof Error) this.fail(error, socket);
      };
      this.calls.push({ expected: 1, replies: [], settle });
      socket.write(encode(["AUTH", decodeURIComponent(this.url.password)]));
    }
    return socket;
  }

  private receive(chunk: Buffer): void {
    this.received = this.received.length > 0 ? Buffer.concat([this.received, chunk]) : chunk;
    let at = 0;
    try {
      for (let found = readReply(this.received, at); found; found = readReply(this.received, at)) {
        at = found[1];
        const call = this.calls[0];
        if (!call) throw new Error("a reply that no call waits for");
        if (call.replies.push(found[0]) < call.expected) continue;
        this.calls.shift();
        const error = call.replies.find((reply) => reply instanceof Error);
        call.settle(error instanceof Error ? error : call.replies);
      }
      if (this.received.length - at > maxReply) throw new Error("the reply is too long");
    } catch (error) {
      return this.fail(error as Error);
    }
    this.received = this.received.subarray(at);
    if (this.calls.length === 0) this.socket?.unref();
  }

  /** Gives the connection up, with all calls on it: nothing is sent twice. */
  private fail(error: Error, socket = this.socket): void {
    if (!socket || socket !== this.socket) return;
    this.socket = undefined;
    this.received = Buffer.alloc(0);
    const calls = this.calls;
    this.calls = [];
    socket.destroy();
    for (const call of calls) call.settle(error);
  }
}
