import type { ReadGauge, Reading } from './instruments.ts'

/** A gauge with a value for each mount. Values with the same label are combined. */
export type LabelledGauge = {
  readonly name: string
  readonly help: string
  combine(one: number, other: number): number
  /** `label` has a limited number of values. */
  read(): Promise<readonly Labelled[]>
}

export const mountGauge = ({ name, help, combine, read }: LabelledGauge): ReadGauge => ({
  name,
  help,
  labels: ['mount'],
  read: async () => combined(await read(), combine),
})

type Labelled = { readonly label: string; readonly value: number | undefined }

/** A value for each mount. */
export function combined(
  values: readonly Labelled[],
  combine: (one: number, other: number) => number,
): Reading {
  const byMount = new Map<string, number>()
  for (const { label, value } of values) {
    const known = byMount.get(label)
    if (value !== undefined) byMount.set(label, known === undefined ? value : combine(known, value))
  }
  return [...byMount].map(([mount, value]) => ({ labels: { mount }, value }))
}
