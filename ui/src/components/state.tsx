import type { ReactNode } from 'react'

/** An icon of 16 × 16 for each kind. */
const icons = {
  good: 'M3.5 8.5l3 3 6-7',
  waiting: 'M8 4.5V8l2.5 1.5M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z',
  warning: 'M8 6v3M8 11.4v.1M8 2.5l6 11H2z',
  bad: 'M4.5 4.5l7 7M11.5 4.5l-7 7',
  over: 'M4 8h8',
} as const

type Props = { readonly kind: keyof typeof icons; readonly children: ReactNode }

/** Shows a state as a word, with an icon and a color that say the same. */
export const State = ({ kind, children }: Props) => (
  <span className="state" data-kind={kind}>
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path d={icons[kind]} />
    </svg>
    {children}
  </span>
)
