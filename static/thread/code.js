// Code blocks: a header with the language and Copy, and colours once the block is seen.

import { h, icon } from "./dom.js";

const MOST = 20_000; // characters; a longer block stays plain

const seen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      colour(entry.target);
    }
  },
  { rootMargin: "200px" },
);

/** Put a `pre` that marked made into a box with a header, and colour it when it is seen. */
export function decorateCode(pre) {
  const code = pre.querySelector("code") ?? pre;
  const language = /language-([\w#+.-]+)/.exec(code.className)?.[1] ?? "";
  const box = h(
    "div",
    { class: "code" },
    h(
      "div",
      { class: "code-head" },
      h("span", { text: language || "text" }),
      h(
        "button",
        {
          type: "button",
          class: "act",
          "data-copy": "code",
          "aria-label": "Copy code",
          title: "Copy code",
        },
        icon("copy"),
      ),
    ),
  );
  pre.replaceWith(box);
  box.append(pre);
  pre.setAttribute("dir", "ltr");
  pre.setAttribute("tabindex", "0");
  pre.setAttribute("role", "region");
  pre.setAttribute("aria-label", language ? `Code, ${language}` : "Code");
  pre.classList.add("scroll");
}

/** Start colouring the code blocks under `box` as they come into view. */
export function watchCode(box) {
  for (const code of box.querySelectorAll('pre > code[class*="language-"]:not([data-coloured])')) {
    if (code.textContent.length < MOST) seen.observe(code);
  }
}

async function colour(code) {
  const [{ default: hljs }, { pureSpans }] = await Promise.all([
    import("../vendor/highlight.min.js"),
    import("./markdown.js"),
  ]);
  const language = /language-([\w#+.-]+)/.exec(code.className)?.[1];
  if (!language || !hljs.getLanguage(language)) return;
  const { value } = hljs.highlight(code.textContent, { language, ignoreIllegals: true });
  const spans = pureSpans(value);
  // The words must be the same to the last character, or the plain block stays.
  if (spans.textContent !== code.textContent) return;
  code.replaceChildren(spans);
  code.dataset.coloured = "yes";
}
