import { readFile, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

const MOST = 512; // files that wait for a broker; what is more is dropped
const LONGEST = 4097; // characters of a text in a payload: one more than the broker keeps, which marks its cut
const LONGEST_WAIT = 300; // milliseconds
let count = 0;
let last = 0;
let written = Promise.resolve();

function spool() {
  const { SEANCE_SOCKET_PATH: given = "", XDG_RUNTIME_DIR: run = "" } = process.env;
  if (given) return join(dirname(given.startsWith("~/") ? homedir() + given.slice(1) : given), "spool");
  return run.startsWith("/") ? join(run, "seance", "spool") : join(homedir(), ".seance", "spool");
}

async function header(event, at) {
  const lines = [`Agent: ${AGENT}`, `Event: ${event}`, `At: ${at / 1000}`];
  for (const [name, variable] of Object.entries(PLACES)) {
    const value = process.env[variable] ?? "";
    const wanted = ["Workspace", "Surface"].includes(name) ? /^[0-9]+$/ : /^[^\x00-\x1f\x7f]+$/;
    if (wanted.test(value)) lines.push(`${name}: ${value}`);
  }
  // Behind the name, which may hold anything: 4 is the session, 5 the terminal, 20 the start
  const fields = (await readFile("/proc/self/stat", "utf8")).replace(/^.*\) /s, "").split(" ");
  lines.push(`Pid: ${process.pid} ${fields[19]}`, `Pid: ${process.ppid}`);
  if (fields[4] !== "0") lines.push(`Tty: ${fields[4]} ${fields[3]}`);
  return lines.join("\n");
}

async function write(event, at, payload) {
  const directory = spool();
  if ((await stat(directory)).uid !== process.getuid()) return;
  const name = `${AGENT}-${process.pid}-${count++ % MOST}`;
  const content = `${await header(event, at)}\n\n${payload}`;
  await writeFile(join(directory, name), content, { flag: "wx", mode: 0o600 });
}

// Now, in milliseconds; later than the time before, unless the clock was set back.
function now() {
  const at = Date.now();
  last = at > last || at < last - 1000 ? at : last + 0.001;
  return last;
}

// Leave one event in the broker's spool, in order, while the agent goes on. See seance-hook(1).
function report(event, payload) {
  attempt(() => {
    const cut = (_, value) => (typeof value === "string" ? value.slice(0, LONGEST) : value);
    const text = JSON.stringify(payload ?? {}, cut);
    const at = now();
    written = written.then(() => write(event, at, text)).catch(() => {}); // no broker, no report
  });
}

// Call something that may fail, as where this release of the agent has other ways.
function attempt(something) {
  try {
    something();
  } catch {
    // Whatever it is, the agent must not notice
  }
}

// Wait for the reports, since the agent is about to end; no longer than a hook may take.
function finish() {
  const late = new Promise((done) => setTimeout(done, LONGEST_WAIT).unref?.());
  return Promise.race([written, late]);
}
