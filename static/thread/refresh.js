// Asking the page to look again, no more often than needed.
//
// A trigger that is sent while another one of this element still waits would replace it, so
// while an act of the person is unanswered nothing is asked.

const SOON = 50; // ms: several events become one question
const STARTED = 150; // a run that this tab began reaches the page by itself, a moment later
const APART = 300;
const ANSWER = 1500; // an act without an answer for so long is taken as done
const TRIES = 6;

/**
 * Whether a person writes into a dialog. A look at the page draws the dialog anew, without the
 * words that have not been left yet; what lies behind it can wait.
 */
function writing() {
  const at = document.activeElement;
  const field = at?.matches("textarea, input:not([role=combobox])");
  return Boolean(field && at.closest('[role="dialog"]'));
}

export class Refresh {
  #open = new Map(); // what the page may not know yet
  #timer = 0;
  #last = 0;
  #acting = 0;

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

  #fire() {
    if (writing()) return this.#later(APART);
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
