// Attached files: small pictures and chips in a message. Their bytes come by a route of their
// own that asks for our token, so pictures are fetched and shown from memory.

import { h, icon } from "./dom.js";

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const KEPT = 200; // small pictures held in memory
const NEAR = "150px 0px"; // how far off the screen a small picture is already fetched

const pictures = new Map(); // sha256 -> promise of an address in memory
const wanted = new WeakMap(); // element -> how to fill it

const onScreen = new IntersectionObserver(
  (seen) => {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue;
      onScreen.unobserve(target);
      wanted.get(target)?.();
    }
  },
  { rootMargin: NEAR },
);

/** Whether a file is drawn as a picture. */
export function isImage(file) {
  return IMAGES.has(file.media_type);
}

/** The bytes of a file as a blob; rejects when they are gone. */
export async function fetchFile(file, token, query = "") {
  const response = await fetch(new URL(`api/files/${file.sha256}${query}`, document.baseURI), {
    headers: { "x-turntree-token": token },
  });
  if (!response.ok) throw new Error(`${response.status} for a file`);
  return response.blob();
}

function picture(file, token) {
  const { sha256 } = file;
  if (!pictures.has(sha256)) {
    const coming = fetchFile(file, token, "?size=thumb").then((blob) => URL.createObjectURL(blob));
    coming.catch(() => pictures.delete(sha256)); // asked for again the next time
    pictures.set(sha256, coming);
    if (pictures.size > KEPT) forget(pictures.keys().next().value);
  }
  return pictures.get(sha256);
}

function forget(sha256) {
  pictures.get(sha256).then(URL.revokeObjectURL, () => null);
  pictures.delete(sha256);
}

/** The chip of a file that waits, with a way to take it back. */
export function removableChip(file, { token, layer, remove }) {
  const label = `Remove ${file.name || "unnamed"}`;
  const props = { type: "button", class: "file-remove", title: label, "aria-label": label };
  const button = h("button", { ...props, onclick: remove }, "\u00d7");
  return h("span", { class: "file-box" }, fileChip(file, { token, layer }), button);
}

/** Bytes as people say them. */
export function sizeWords(bytes) {
  if (bytes == null) return "";
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 999_500) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** "PDF · 1.2 MB": what stands under a name. */
export function kindWords(file) {
  const ending = /\.([a-z0-9]{1,5})$/i.exec(file.name ?? "")?.[1];
  const named = { "application/pdf": "PDF", "text/plain": ending?.toUpperCase() ?? "Text" };
  const kind = named[file.media_type] ?? file.media_type?.split("/")[1]?.toUpperCase() ?? "File";
  return [kind, sizeWords(file.size)].filter(Boolean).join(" \u00b7 ");
}

/** The row that a message's files stand in. */
export function fileRow() {
  return h("div", { class: "files", role: "group", "aria-label": "Attached files" });
}

/** A file as a button that opens its preview: a small picture, or its name and kind. */
export function fileChip(file, { token, layer }) {
  const name = file.name || "unnamed";
  const chip = h("button", {
    type: "button",
    class: isImage(file) ? "file image" : "file",
    "data-sha": file.sha256,
    title: [name, sizeWords(file.size)].filter(Boolean).join(" \u00b7 "),
    "aria-label": `Preview ${name}`,
    onclick: () =>
      import("./preview.js").then(({ preview }) => preview(file, { token, layer, from: chip })),
  });
  if (isImage(file)) fill(chip, file, token);
  else chip.append(icon("file"), about(file));
  return chip;
}

function about(file) {
  return h(
    "span",
    { class: "file-about" },
    h("span", { class: "file-name", dir: "auto", text: file.name || "unnamed" }),
    h("span", { class: "file-kind", text: kindWords(file) }),
  );
}

function fill(chip, file, token) {
  const image = h("img", { alt: "", draggable: "false" });
  chip.append(image);
  wanted.set(chip, () =>
    picture(file, token).then(
      (address) => (image.src = address),
      () => {
        chip.classList.remove("image");
        chip.replaceChildren(icon("alert"), about(file));
      },
    ),
  );
  onScreen.observe(chip);
}
