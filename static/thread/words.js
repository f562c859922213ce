// How numbers, models and outcomes are put into words.

const GROUPED = new Intl.NumberFormat("en-US");

/** 1930 -> "1.9 s", 75000 -> "1 min 15 s". */
export function duration(ms) {
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** counted(1, "word") -> "1 word", counted(1200, "token") -> "1,200 tokens". */
export function counted(number, noun) {
  return `${GROUPED.format(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Characters as a size a person can judge: 1048576 -> "1.0 MB". */
export function size(characters) {
  if (characters < 1000) return `${characters} B`;
  if (characters < 1_000_000) return `${Math.round(characters / 1000)} kB`;
  return `${(characters / 1_000_000).toFixed(1)} MB`;
}

/** The number of words between blanks. */
export function wordCount(text) {
  return text.match(/\S+/g)?.length ?? 0;
}

/** The readable words of a body; thinking and tools left out. Exact, for copy, edit and diff. */
export function textOf(body) {
  return (body?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** NUL has no glyph: show its symbol, so that what is there can be seen. */
export function visible(text) {
  return text.includes("\0") ? text.replaceAll("\0", "\u2400") : text;
}

/** Every way a run can end, except a plain stop: the words and the acts that help. */
export const FINISH = {
  length: { words: "hit the length limit", acts: ["continue"] },
  content_filter: {
    words: "blocked by the content filter",
    hint: "Rephrase the turn above, or try another model.",
    acts: ["retry"],
  },
  refusal: {
    words: "the model declined",
    hint: "Rephrase the turn above, or try another model.",
    acts: ["retry"],
  },
  stopped: { words: "stopped by you", acts: ["continue"] },
  interrupted: { words: "interrupted", acts: ["continue", "retry"] },
  cut_off: { words: "stream ended early", acts: ["continue", "retry"] },
  error: { words: "ended with an error", acts: ["retry"] },
  tool_call: { words: "called a tool", acts: [] },
};

const ROLES = { user: "you", system: "system prompt", tool: "tool result" };

/** Who speaks in a turn, as a screen reader says it: "you", "answer by gpt-main". */
export function speaker(entry) {
  if (entry.role !== "assistant") return ROLES[entry.role] ?? entry.role;
  const imported = entry.author === "import";
  const nobody = wasFused(entry) ? "fusing" : imported ? "an unknown model" : "a person";
  return `answer by ${entry.run?.label || entry.run?.model || entry.model || nobody}`;
}

/** Whether an answer was put together from others. */
function wasFused(entry) {
  return entry.origins?.some(({ kind }) => kind === "fuse") ?? false;
}

const AUTHORS = { "hand-edited": "hand-edited", import: "imported" };

/** The line under a turn, as pieces: who, how long, how many tokens, how much. */
export function metaPieces(entry) {
  const run = entry.run;
  const author = AUTHORS[entry.author];
  const fused = wasFused(entry);
  if (entry.role !== "assistant") {
    return [ROLES[entry.role] ?? entry.role, `turn ${entry.turn}`, author].filter(Boolean);
  }
  return [
    run?.label || run?.model || entry.model || (fused && "fused") || (author ? null : "unknown model"),
    author,
    run?.duration_ms != null ? duration(run.duration_ms) : null,
    cachedWords(run),
    run?.output_tokens != null ? counted(run.output_tokens, "token") : null,
    run?.cost ?? null,
  ].filter(Boolean);
}

const CACHEABLE = 1024; // tokens; no share is expected of a shorter prompt, so none is missed

/** "1,204 in (62% cached)", where a provider tells and there was something to cache. */
function cachedWords(run) {
  const share = cachedShare(run);
  if (share == null || (!run.cached_tokens && run.input_tokens < CACHEABLE)) return null;
  return `${GROUPED.format(run.input_tokens)} in (${share}% cached)`;
}

/** The part of the input that was read from a cache, in percent; null if nobody told. */
function cachedShare(run) {
  if (run?.cached_tokens == null || !run.input_tokens) return null;
  const share = Math.min(100, (100 * run.cached_tokens) / run.input_tokens);
  return share > 99 && share < 100 ? 99 : Math.round(share);
}

/** The finer numbers of a run, for the tooltip of the line above. */
export function metaDetail(run) {
  if (!run) return "";
  const lines = [`${run.provider} · ${run.model}`];
  if (run.first_token_ms != null) lines.push(`first word after ${duration(run.first_token_ms)}`);
  if (run.input_tokens != null) {
    const share = cachedShare(run);
    const cached =
      share == null ? "" : `, ${GROUPED.format(run.cached_tokens)} cached (${share}%)`;
    lines.push(`${counted(run.input_tokens, "token")} read${cached}`);
  }
  if (run.output_tokens != null) lines.push(`${counted(run.output_tokens, "token")} written`);
  return lines.join("\n");
}
