// Where a message's words came from: "Fused from X and Y", each a way there.

import { h, icon } from "./dom.js";

const SAID = {
  fuse: ["Fused from", "fork"],
  merge: ["Merged from", "fork"],
  quote: ["Quotes", "quote"],
  replay: ["Replays", "regenerate"],
  pick: ["Carried over from", "copy"],
};

/** The lines of a turn, as elements; none for one that came from nowhere else. */
export function originLines(turn) {
  const origins = turn.entry.origins ?? [];
  const kinds = [...new Set(origins.map(({ kind }) => kind))];
  return kinds.flatMap((kind) => {
    const [words, picture] = SAID[kind] ?? ["From", "fork"];
    const links = origins
      .filter((one) => one.kind === kind)
      .map((one) => link(turn, one, words, picture));
    const last = links.length - 1;
    const between = (place) => h("span", { text: place === last ? "and" : "," });
    const joined = links.flatMap((one, place) => (place ? [between(place), one] : [one]));
    return [h("span", { text: words }), ...joined];
  });
}

function link(turn, { node, name }, words, picture) {
  return h(
    "button",
    {
      type: "button",
      class: "chip",
      tabindex: -1,
      "data-key": `origin-${node}`,
      title: `Go to the message in ${name}`,
      "aria-label": `${words} ${name}`,
      onclick: () => turn.view.see(node),
    },
    icon(picture),
    h("span", { text: name }),
  );
}
