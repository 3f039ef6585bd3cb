import type { Mount } from '../../core/mounts/mount.ts'

const usual = 30
const most = 90

const parsed = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,4}$/.test(text) && Number(text) <= most ? Number(text) : undefined

type Optioned = Pick<Mount, 'options'>

/** The mount option `history_days`: for how long successful logins are remembered; 0: not at all. docs/contract/what-if.md#what-is-kept */
export const historyDays = ({ options }: Optioned): number => parsed(options?.['history_days']) ?? usual

/** A tune that changes the option to something that does not count is accepted, but says so. */
export function historyDaysWarnings(before: Optioned, { options }: Optioned): string[] {
  const text = options?.['history_days']
  if (text === undefined || text === before.options?.['history_days'] || parsed(text) !== undefined) return []
  return [`'history_days' is not a number from 0 to ${most}: ${usual} counts`]
}
