// Asking the page to look again, no more often than needed.
//
// A trigger that is sent while another one of this element still waits would replace it, so
// while an act of the person is unanswered nothing is asked.

const SOON = 50; // ms: several events become one question
const STARTED = 150; // a run that this tab began reaches the page by itself, a moment later
const APART = 300;
const ANSWER = 1500; // an act without an answer for so long is taken as done
const TRIES = 6;
const AT_WORK = 60; // ms between two looks whether the page is still at work
const PRESSED = 200; // ms within which the page takes notice of a key or a click
const PATIENCE = 3000; // what takes longer than this is not waited for

/**
 * Whether a person writes into a dialog. A look at the page draws the dialog anew, without the
 * words that have not been left yet; what lies behind it can wait. An open dialog takes the focus
 * back into the field that was left last: a field counts once somebody went there, or wrote.
 */
class Pen {
  #field = null;
  #reached = null; // what was pressed last, before the focus followed; the document: a key

  constructor() {
    const heed = (type, hear) => document.addEventListener(type, hear, true);
    heed("pointerdown", ({ target }) => (this.#reached = target));
    heed("keydown", ({ key }) => key === "Tab" && (this.#reached = document));
    heed("input", ({ target }) => (this.#field = target));
    heed("focusin", ({ target }) => {
      const reached = this.#reached;
      const label = reached?.closest?.("label");
      const meant = reached === document || target.contains(reached) || label?.control === target;
      this.#field = meant ? target : null;
      this.#reached = null;
    });
  }

  get writes() {
    const field = this.#field?.matches("textarea, input:not([role=combobox])");
    const here = document.activeElement === this.#field;
    return Boolean(field && here && this.#field.closest('[role="dialog"]'));
  }
}

const pen = new Pen();

let pressed = -PRESSED;
for (const type of ["pointerdown", "pointerup", "keydown"]) {
  const writes = ({ target }) => type === "keydown" && target.matches?.("textarea, input");
  const press = (event) => writes(event) || (pressed = performance.now());
  document.addEventListener(type, press, true);
}

/**
 * Whether the page is at work, on a click perhaps: to ask now would end that run of the script,
 * and where the run had not come to the button yet the click would have done nothing.
 */
function atWork() {
  if (performance.now() - pressed < PRESSED) return true;
  const app = document.querySelector('[data-testid="stApp"]');
  return ["running", "rerunRequested"].includes(app?.dataset.testScriptState);
}

export class Refresh {
  #open = new Map(); // what the page may not know yet
  #timer = 0;
  #last = 0;
  #acting = 0;
  #waits = 0; // since when the page's own work is waited for

  /**
   * `needed(message)` says whether the page is behind, `insist(message)` whether to ask again
   * until it is not; `send()` asks.
   */
  constructor({ needed, insist, send }) {
    this.needed = needed;
    this.insist = insist;
    this.send = send;
  }

  /** Something happened that the page should show. */
  ask(message) {
    const key = `${message.type} ${message.run ?? ""}`;
    this.#open.set(key, { message, tries: this.insist(message) ? TRIES : 1 });
    this.#later(message.type === "started" ? STARTED : SOON);
  }

  /** The person did something: its answer is a look of its own. */
  acted() {
    this.#acting = performance.now();
  }

  /** New data came; an act of the person is answered. */
  answered() {
    this.#acting = 0;
  }

  destroy() {
    clearTimeout(this.#timer);
    this.#open.clear();
  }

  #later(wait) {
    const now = performance.now();
    const answer = this.#acting ? this.#acting + ANSWER - now : 0;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fire(), Math.max(wait, this.#last + APART - now, answer));
  }

  #patient() {
    this.#waits ||= performance.now();
    return performance.now() - this.#waits < PATIENCE;
  }

  #fire() {
    if (pen.writes) return this.#later(APART);
    if (atWork() && this.#patient()) return this.#later(AT_WORK);
    this.#waits = 0;
    let asked = 0;
    for (const [key, item] of this.#open) {
      if (item.tries <= 0 || !this.needed(item.message)) this.#open.delete(key);
      else asked = Math.max(asked, TRIES - --item.tries);
    }
    if (!this.#open.size) return undefined;
    this.#last = performance.now();
    this.send();
    return this.#later(APART * 2 ** asked); // in case the answer does not tell it yet
  }
}
