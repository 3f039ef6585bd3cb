import { useId } from 'react'

type Props = {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  /** Values, each with what it says. */
  readonly options: readonly (readonly [string, string])[]
}

/** The browser's own list: it is accessible, and fits a phone. */
export function Select({ label, value, onChange, options }: Props) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={({ target }) => onChange(target.value)}>
        {options.map(([one, says]) => (
          <option key={one} value={one}>
            {says}
          </option>
        ))}
      </select>
    </div>
  )
}
