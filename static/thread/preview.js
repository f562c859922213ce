// The preview of an attached file, over the page. Nothing in a file ever runs: pictures are
// pictures, PDF goes to the browser's own viewer, and everything else is shown as plain text.

import { h, textButton } from "./dom.js";
import { fetchFile, isImage, kindWords } from "./files.js";

const SHOWN = 200_000; // characters of a text

/** Open the preview of a file; Escape, Close or a click beside it end it. */
export async function preview(file, { token, layer, from }) {
  const body = h("div", { class: "preview-body", "aria-busy": "true" });
  const download = h("a", { class: "button", download: file.name || "file", text: "Download" });
  const close = textButton("Close", () => dialog.close());
  const dialog = h(
    "dialog",
    { class: "preview", "aria-label": `Preview of ${file.name || "a file"}` },
    h(
      "div",
      { class: "preview-head" },
      h(
        "div",
        { class: "preview-name" },
        h("div", { class: "strong", dir: "auto", text: file.name || "unnamed" }),
        h("div", { class: "muted", text: kindWords(file) }),
      ),
      download,
      close,
    ),
    body,
  );
  let address = null;
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (address) URL.revokeObjectURL(address);
    from?.focus({ preventScroll: true });
  });
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  // Keys mean other things to the page around us; Escape would stop a running answer.
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  layer.append(dialog);
  dialog.showModal();
  close.focus();
  try {
    const blob = await fetchFile(file, token);
    if (!dialog.isConnected) return;
    address = URL.createObjectURL(blob);
    download.href = address;
    body.replaceChildren(...(await content(file, blob, address)));
    // The browser's viewer takes the focus when it is there, and with it Escape.
    body.querySelector("iframe")?.addEventListener("load", () => close.focus());
  } catch {
    body.replaceChildren(
      h("p", { class: "muted", role: "alert", text: "The file could not be loaded. Try again." }),
    );
  }
  body.removeAttribute("aria-busy");
}

async function content(file, blob, address) {
  if (isImage(file)) return [h("img", { src: address, alt: file.name || "Attached image" })];
  if (blob.type === "application/pdf") {
    if (navigator.pdfViewerEnabled)
      return [h("iframe", { src: address, title: file.name || "Attached PDF" })];
    return [h("p", { class: "muted", text: "This browser shows no PDF here. Download it to read." })];
  }
  const text = await blob.text();
  const cut = text.length > SHOWN;
  return [
    h("pre", { tabindex: 0, dir: "auto", text: cut ? text.slice(0, SHOWN) : text }),
    cut ? h("p", { class: "muted", text: "Only the beginning is shown. Download it for all." }) : "",
  ];
}
