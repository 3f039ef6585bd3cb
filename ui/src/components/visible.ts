/**
 * A text of the server with its bidirectional controls as escapes: a browser would obey them, and show a name or a
 * value as another one.
 */
export const visible = (text: string): string =>
  text.replaceAll(
    /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
