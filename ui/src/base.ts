const here = import.meta.url

/** Where the UI is: `https://host/prefix/ui/`. This file is one folder below it, in development and when built. */
export const uiBase = new URL('..', here)

/** Where the API is. */
export const apiBase = new URL('../v1/', uiBase)
