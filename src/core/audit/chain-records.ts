/** Why a writer continues a chain in a file that it has opened. */
export type ResumeReason = 'restart' | 'reopened' | 'file_missing'

/** What happened to a chain. docs/contract/audit.md#chain-records */
export type ChainEvent =
  | { readonly event: 'start' | 'rotate' | 'close' }
  | { readonly event: 'resume'; readonly reason: ResumeReason }
  | { readonly event: 'torn'; readonly torn_bytes: number }
  | { readonly event: 'gap'; readonly missed: number }

export const chainRecord = (time: string, event: ChainEvent): string =>
  JSON.stringify({ time, type: 'chain', ...event })
