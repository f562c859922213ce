// Words that left the input and that the server has not told of yet. A connection that breaks,
// or a script that is interrupted in the wrong moment, can swallow them on their way: then they
// come back into the input.

const NAME = "turntree.unheard";
const GONE = "turntree.gone."; // and the branch: the last words known to have gone from a dialog
const PATIENCE = 6000; // ms for the server to tell of what was sent
const LOOK = 500; // ms between two looks

const gone = new Map(); // the same, where storage is full or forbidden

export class Unheard {
  /** `box()` is the input or null, `put(words)` puts words into it, `take()` takes all out of it,
   *  `say(words)` shows a line. */
  constructor({ box, put, take, say }) {
    Object.assign(this, { box, put, take, say });
    this.back = null; // words that were put back, and may yet turn out to be there
    this.timer = setInterval(() => this.#look(), LOOK);
  }

  destroy() {
    clearInterval(this.timer);
  }

  /** Note that these words have left the input, to be said at `key`. */
  sent(text, key) {
    if (text.trim()) write([...read(), { text, key, at: Date.now() }]);
  }

  /** What the server has heard of late: what arrived, what waits, what stands in the thread. */
  update({ heard = [], recall = [], gone: told, session_id: session, branch_id: branch }) {
    this.key = `${session ?? ""}.${branch ?? ""}`;
    this.told = told;
    this.#forget();
    const known = new Set([...heard, ...recall].map(beginning));
    write(read().filter(({ text }) => !known.has(beginning(text))));
    if (this.back !== null && known.has(beginning(this.back))) {
      if (this.box()?.value === this.back) this.take();
      this.back = null;
    }
  }

  /** Words that went out from a dialog: once for each time, the draft goes that they were. */
  #forget() {
    const { told, key } = this;
    const box = this.box();
    if (!told || !box || gone.get(key) === told.n || remembered(GONE + key) === told.n) return;
    gone.set(key, told.n);
    remember(GONE + key, told.n);
    if (box.value.trim() === told.text) this.take();
  }

  #look() {
    this.#forget();
    const box = this.box();
    const late = read().find(({ at, key }) => Date.now() - at > PATIENCE && key === this.key);
    if (!late || !box || box.disabled || box.value) return; // without a connection it is disabled
    write(read().filter(({ at }) => at !== late.at));
    this.back = late.text;
    this.put(late.text);
    this.say("These words did not arrive. Press Enter to send them again.");
  }
}

/** What words are known by: the server tells of long ones by their beginning. */
function beginning(text) {
  return [...text.trim().slice(0, 1000)].slice(0, 300).join("");
}

function remembered(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // The tab still remembers.
  }
}

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(NAME) ?? "[]");
  } catch {
    return [];
  }
}

function write(list) {
  try {
    if (list.length) sessionStorage.setItem(NAME, JSON.stringify(list.slice(-20)));
    else sessionStorage.removeItem(NAME);
  } catch {
    // Storage is full or forbidden: then there is nothing to put back.
  }
}
