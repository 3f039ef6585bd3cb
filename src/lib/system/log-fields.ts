/** What a line of the log has besides its text: what has happened, by which lines are found, and its facts. */
export type LogFields = { readonly event: string } & Readonly<Record<string, unknown>>

export type LogLine = (fields: LogFields, text: string) => void
