// What conditions ask of a document, as one expression: a function of the texts that are
// looked for. It runs in the isolated world, where a page cannot reach it; getters come
// from the prototypes, since a form's fields and named elements hide those of the
// document and of elements.
(() => {
  const getter = (proto, name) => {
    const { get } = Object.getOwnPropertyDescriptor(proto, name);
    return of => get.call(of);
  };
  const root = getter(Document.prototype, "documentElement");
  const readyState = getter(Document.prototype, "readyState");
  const innerText = getter(HTMLElement.prototype, "innerText");
  const textContent = getter(Node.prototype, "textContent");
  const childNodes = getter(Node.prototype, "childNodes");
  const nodeType = getter(Node.prototype, "nodeType");
  const shadowRoot = getter(Element.prototype, "shadowRoot");
  const contentDocument = getter(HTMLIFrameElement.prototype, "contentDocument");
  const { checkVisibility } = Element.prototype;
  const everything = (proto, of) => proto.querySelectorAll.call(of, "*");

  const rendered = element => checkVisibility.call(element, { visibilityProperty: true });
  const shownText = element => {
    try { return innerText(element); } catch { return textContent(element); } // SVG has no innerText
  };
  const frameDocument = element => {
    try { return contentDocument(element); } catch { return null; } // no frame
  };

  // The texts that a reader sees: each tree's own, since a tree does not hold the text
  // of the shadow trees and frames in it.
  function* shown(elements, tops) {
    for (const node of tops) {
      if (nodeType(node) == Node.TEXT_NODE) yield textContent(node);
      else if (nodeType(node) == Node.ELEMENT_NODE && rendered(node)) yield shownText(node);
    }
    for (const element of elements) {
      const shadow = shadowRoot(element);
      if (shadow && rendered(element)) yield* shown(everything(DocumentFragment.prototype, shadow), childNodes(shadow));
      const inner = frameDocument(element);
      if (inner && root(inner) && rendered(element)) yield* shown(everything(Document.prototype, inner), [root(inner)]);
    }
  }

  const fold = text => text.replace(/\s+/g, " ").trim();
  return wanted => {
    const left = new Set(wanted.map(fold));
    const found = new Set();
    if (left.size > 0 && root(document)) {
      for (const text of shown(everything(Document.prototype, document), [root(document)])) {
        const folded = fold(text);
        for (const t of left) if (folded.includes(t)) { left.delete(t); found.add(t); }
        if (left.size == 0) break;
      }
    }
    return { url: location.href, complete: readyState(document) == "complete", shown: wanted.map(t => found.has(fold(t))) };
  };
})()
