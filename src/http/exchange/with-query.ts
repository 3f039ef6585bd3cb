/** The target of a redirect; `query` is without its question mark. */
export const withQuery = (path: string, query: string): string => (query === '' ? path : `${path}?${query}`)
