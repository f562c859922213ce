// The one live connection of a tab: which runs answer now, and what they have said so far.
//
// Modules are evaluated once per document, so this object outlives every remount of the
// thread: a page switch or a rerun neither drops the socket nor loses a word.

const FIRST_WAIT = 250;
const LONGEST_WAIT = 5000;
const STRANGER = 4403; // the server was started anew: the page must fetch its token first
const LINGER = 3000; // how long the socket stays open once nothing shows the conversation

class Live {
  /** Live runs by id: text and thinking so far, stage, share, retry, ended. */
  runs = new Map();
  #listeners = new Set();
  #socket = null;
  #session = null;
  #token = null;
  #wait = FIRST_WAIT;
  #timer = 0;
  #leaving = 0;
  #greeted = false; // whether the server has told which runs are alive

  constructor() {
    const hurry = () => {
      if (this.#session && !this.#socket && document.visibilityState === "visible") this.#open();
    };
    document.addEventListener("visibilitychange", hurry);
    window.addEventListener("online", hurry);
  }

  /** Hear every message after it was applied; returns the function that ends it. */
  listen(listener) {
    clearTimeout(this.#leaving);
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (!this.#listeners.size) this.#leaving = setTimeout(() => this.#close(), LINGER);
    };
  }

  /** Follow a session; the same one again costs nothing. */
  follow(session, token) {
    if (session === this.#session && token === this.#token) return;
    if (session !== this.#session) this.runs.clear();
    this.#close();
    this.#session = session;
    this.#token = token;
    this.#wait = FIRST_WAIT;
    this.#open();
  }

  /** Whether a run is known to be over: its end came before anybody here listened. */
  isOver(run) {
    const known = this.runs.get(run);
    return this.#greeted && (!known || Boolean(known.ended));
  }

  /** Drop a run that the page shows as a finished node, or as trouble. */
  forget(run) {
    this.runs.delete(run);
  }

  #open() {
    clearTimeout(this.#timer);
    const query = new URLSearchParams({ token: this.#token, session: this.#session });
    const url = new URL(`api/live?${query}`, document.baseURI);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      if (socket === this.#socket) this.#receive(JSON.parse(data));
    };
    socket.onclose = ({ code }) => {
      if (socket !== this.#socket) return;
      this.#again();
      if (code === STRANGER) this.#tell({ type: "stranger" });
    };
  }

  #again() {
    this.#socket = null;
    this.#greeted = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#open(), this.#wait);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
  }

  #close() {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = null;
    this.#session = null;
    this.#greeted = false;
    socket?.close();
  }

  #receive(message) {
    const run = this.runs.get(message.run);
    if (message.type === "hello") this.#hello(message.runs);
    else if (message.type === "started") this.#begin(message);
    else if (message.type === "delta") {
      if (!run || !this.#append(run, message)) return;
    } else if (message.type === "progress" && run) {
      Object.assign(run, { stage: message.stage, share: message.share, retry: null });
    } else if (message.type === "retrying" && run) {
      const until = performance.now() + message.seconds * 1000;
      run.retry = { until, message: message.message };
    } else if (message.type === "ended" && run) {
      run.ended = { node: message.node, finish: message.finish };
    }
    this.#tell(message);
  }

  #tell(message) {
    for (const listener of this.#listeners) listener(message);
  }

  #begin(start) {
    const before = this.runs.get(start.run);
    const text = start.text ?? "";
    const thinking = start.thinking ?? "";
    this.runs.set(start.run, {
      ...start,
      text,
      thinking,
      retry: null,
      ended: null,
      // An answer met half-way has no known beginning, unless the server tells it.
      since: before?.since ?? this.#since(start, text || thinking),
    });
  }

  #since(start, midway) {
    if (start.elapsed != null) return performance.now() - start.elapsed * 1000;
    return midway ? null : performance.now();
  }

  #hello(runs) {
    this.#wait = FIRST_WAIT;
    this.#greeted = true;
    const alive = new Set(runs.map(({ run }) => run));
    for (const start of runs) this.#begin(start);
    for (const run of this.runs.values()) {
      // It ended while nobody listened: the page knows how, once it is asked.
      if (!alive.has(run.run) && !run.ended) run.ended = { node: undefined, finish: null };
    }
  }

  /**
   * Add a delta where it belongs; false if it was already here or something is missing. `at`
   * counts UTF-16 units, as the length of a text here does.
   */
  #append(run, { kind, at, text }) {
    const have = run[kind].length;
    if (at > have) {
      this.#socket.close(); // words are missing: a new hello brings all of them
      return false;
    }
    const fresh = text.slice(have - at);
    if (!fresh) return false;
    run[kind] += fresh;
    run.retry = null;
    return true;
  }
}

export const live = new Live();
