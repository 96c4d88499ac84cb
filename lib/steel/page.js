// The questions that are asked in a page, as one expression. Each method returns what
// JSON can hold. The page's own scripts do not see this world, but they share the
// document, so that nothing here trusts what an element says of itself.
(() => {
  // From the prototype: elements of such names hide the document's own.
  const own = (name) => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
  const where = () => ({ url: location.href, title: own("title") });
  // A file that the page has: its blob, what is to be said of it, and a piece in base64.
  const open = (url) => fetch(url).then((answer) => answer.blob());
  const describe = (blob) => ({ size: blob.size, type: blob.type });
  const piece = async (blob, from, to) => {
    const bytes = new Uint8Array(await blob.slice(from, to).arrayBuffer());
    let text = "";
    for (let i = 0; i < bytes.length; i += 0x8000) {
      text += String.fromCharCode.apply(null, bytes.subarray(i, i + 0x8000));
    }
    return btoa(text);
  };

  // The requests of the document, as it remembers them for measuring.
  const requests = (most) => {
    if (typeof performance?.getEntriesByType !== "function") return { supported: false, requests: [] };
    const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
    return {
      supported: true,
      requests: all.slice(-most).map((e) => ({ at: performance.timeOrigin + e.startTime, url: e.name, type: e.initiatorType, status: e.responseStatus ?? 0 })),
    };
  };

  // When the document began, in milliseconds since 1970.
  const began = () => performance.timeOrigin;

  return { where, open, describe, piece, requests, began };
})()
