/**
 * How paths are told apart, wherever they are. The one pattern of ours, a generic name, has a single
 * repetition: its time grows with the name's length only.
 */
export const routerOptions = { maxParamLength: 1 << 16, allowUnsafeRegex: true }
