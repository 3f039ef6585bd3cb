import type { Plan } from './plan.ts'

/** A plan for a person: what comes over, what does not and what to do about each. docs/import.md#plan */
export function planText({ comes, stays, unread }: Plan): string {
  const parts = [
    section(
      'Comes over',
      comes.map(({ kind, namespace, path, type, counts }) => [
        namespace + path,
        type ?? kind,
        countsText(counts),
      ]),
    ),
    section(
      'Stays behind, and what to do',
      stays.map(({ kind, namespace, path, type, count, todo }) => [
        namespace + path,
        [count, type ?? kind.replaceAll('_', ' ')].filter((part) => part !== undefined).join(' '),
        todo,
      ]),
    ),
    section(
      'Unknown, because the source did not show it',
      unread.map(({ kind, namespace, path, reason }) => [
        namespace + (path === '' ? kind.replaceAll('_', ' ') : path),
        '',
        reason,
      ]),
    ),
  ]
  return `${parts.filter((part) => part !== '').join('\n')}`
}

const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')

function section(title: string, rows: readonly (readonly [string, string, string])[]): string {
  if (rows.length === 0) return ''
  const widthOf = (column: 0 | 1) => Math.min(48, Math.max(...rows.map((row) => row[column].length)))
  const [first, second] = [widthOf(0), widthOf(1)]
  const lines = rows.map(([path, what, text]) =>
    `  ${shown(path).padEnd(first)}  ${shown(what).padEnd(second)}  ${text}`.trimEnd(),
  )
  return `${title}\n${lines.join('\n')}\n`
}

/** Names come from another server: nothing in them controls a terminal. */
const shown = (text: string): string => text.replaceAll(/\p{Cc}/gu, '\u{fffd}')
