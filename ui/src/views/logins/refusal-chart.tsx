import type { LoginFailure } from '../../api/logins.ts'
import { strings } from '../../strings.ts'
import './refusal-chart.css'

const text = strings.logins.chart

const bars = 24
const shownReasons = 4
const [width, height] = [480, 96]

type Bar = { readonly from: number; readonly counts: readonly number[] }

/** How many refusals there were in each part of the time, by their reasons; the rarer ones together. */
function chartOf(failures: readonly LoginFailure[]): { reasons: string[]; bars: Bar[]; most: number } {
  const times = failures.map(({ time }) => Date.parse(time))
  const [first, last] = [Math.min(...times), Math.max(...times)]
  const step = Math.max(1000, (last - first + 1) / bars)
  const byReason = [...Map.groupBy(failures, ({ reason }) => reason)].toSorted(
    ([, one], [, other]) => other.length - one.length,
  )
  const named = byReason.slice(0, shownReasons).map(([reason]) => reason)
  const reasons = byReason.length > shownReasons ? [...named, text.others] : named
  const made = Array.from({ length: bars }, (_, index): Bar => {
    const from = first + index * step
    const counts = reasons.map(
      (reason) =>
        failures.filter(({ reason: own }, at) => {
          const isIn = Math.min(bars - 1, Math.floor(((times[at] ?? 0) - first) / step)) === index
          return isIn && (named.includes(own) ? own === reason : reason === text.others)
        }).length,
    )
    return { from, counts }
  })
  const most = Math.max(...made.map(({ counts }) => total(counts)))
  return { reasons, bars: made, most }
}

const total = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' })

/** Refusals over time by reason, as bars and as a table. */
export function RefusalChart({ failures }: { readonly failures: readonly LoginFailure[] }) {
  const { reasons, bars: made, most } = chartOf(failures)
  const barWidth = width / bars
  return (
    <figure className="refusal-chart">
      <figcaption>{text.title}</figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={text.summary(failures.length, reasons)}
      >
        {made.map(({ from, counts }, index) => {
          let top = height
          return counts.map((count, kind) => {
            const tall = (count / most) * height
            top -= tall
            return (
              count > 0 && (
                <rect
                  key={`${from} ${reasons[kind]}`}
                  className={`kind-${kind}`}
                  x={index * barWidth + 1}
                  y={top}
                  width={barWidth - 2}
                  height={tall}
                />
              )
            )
          })
        })}
      </svg>
      <ul className="legend">
        {reasons.map((reason, kind) => (
          <li key={reason}>
            <svg viewBox="0 0 10 10" aria-hidden="true">
              <rect className={`kind-${kind}`} width="10" height="10" />
            </svg>
            <code>{reason}</code> {total(made.map(({ counts }) => counts[kind] ?? 0))}
          </li>
        ))}
      </ul>
      <details>
        <summary>{text.asTable}</summary>
        <div className="numbers">
          <table>
            <thead>
              <tr>
                <th scope="col">{text.from}</th>
                {reasons.map((reason) => (
                  <th key={reason} scope="col">
                    {reason}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {made
                .filter(({ counts }) => total(counts) > 0)
                .map(({ from, counts }) => (
                  <tr key={from}>
                    <th scope="row">{clock.format(from)}</th>
                    {counts.map((count, kind) => (
                      <td key={reasons[kind]}>{count}</td>
                    ))}
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  )
}
