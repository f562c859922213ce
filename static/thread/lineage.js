// The entries that are shown: the window the page sends, and the older pages loaded above it.

export class Lineage {
  entries = [];
  more = false;
  /** Ids in the order in which they were last drawn. */
  drawn = [];
  /** Whether something may have changed above the window. */
  stale = false;
  #window = 0;

  /**
   * Take the window of new data. Says how the conversation moved: `sent` when it grew by a
   * message of the person, `turned` when it left what was shown for another version, and
   * `common` as the number of entries that stayed.
   */
  take({ entries, more }) {
    const before = this.entries;
    const overlap = entries.length ? before.findIndex(({ id }) => id === entries[0].id) : -1;
    const older = overlap > 0 ? before.slice(0, overlap) : [];
    this.entries = [...older, ...entries];
    if (overlap <= 0) this.more = more;
    this.#window = entries.length;
    let common = 0;
    while (common < before.length && before[common].id === this.entries[common]?.id) common += 1;
    const grew = before.length > 0 && common === before.length;
    return {
      common,
      sent: grew && this.entries.slice(common).some(({ role }) => role === "user"),
      turned: before.length > 0 && !grew,
    };
  }

  /** How many entries lie above the window. */
  older() {
    return this.entries.length - this.#window;
  }

  prepend({ entries, more }) {
    const known = new Set(this.entries.map(({ id }) => id));
    this.entries.unshift(...entries.filter(({ id }) => !known.has(id)));
    this.more = more && entries.length > 0;
  }

  /** Replace entries above the window by newer accounts of the same messages. */
  renew(entries) {
    const fresh = new Map(entries.map((entry) => [entry.id, entry]));
    this.entries = this.entries.map((entry) => fresh.get(entry.id) ?? entry);
  }
}
