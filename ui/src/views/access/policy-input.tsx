import { useId, useRef, useState } from 'react'
import { Field } from '../../components/field.tsx'
import { strings } from '../../strings.ts'
import { type Completion, completionAt, insertionOf } from './completion.ts'
import '../../components/picker.css'
import './policy-input.css'

const text = strings.access.completion

type Props = {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly error: string | undefined
  /** Paths that a rule may have. */
  readonly paths: readonly string[]
}

type Open = Completion & {
  /** The option that Enter takes; -1: none. */
  readonly active: number
  readonly caret: number
  readonly line: number
  readonly column: number
}

/** The text of a policy, with a list at the caret that completes paths and capabilities. */
export function PolicyInput({ label, value, onChange, error, paths }: Props) {
  const id = useId()
  const area = useRef<HTMLTextAreaElement>(null)
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const suggest = ({ isAsked }: { readonly isAsked: boolean }) => {
    const { value: policy = '', selectionStart: caret = 0, selectionEnd: end } = area.current ?? {}
    const found = caret === end ? completionAt(policy, caret, paths) : undefined
    if (found === undefined || (found.kind === 'rule' && !isAsked)) return close()
    const lines = policy.slice(0, found.from).split('\n')
    const active = isAsked || found.typed !== '' ? 0 : -1
    setOpen({ ...found, active, caret, line: lines.length, column: lines.at(-1)?.length ?? 0 })
  }
  const accept = (option: string) => {
    const field = area.current
    if (open === undefined || field === null) return
    const { from, to, text: inserted, caret } = insertionOf(field.value, open, option)
    field.setSelectionRange(from, to)
    // the one way to change a text that the browser can take back
    document.execCommand('insertText', false, inserted)
    field.setSelectionRange(from + caret, from + caret)
    if (open.kind === 'capability') close()
    else suggest({ isAsked: false })
  }
  const step = (by: number) => {
    if (open === undefined) return
    const count = open.options.length
    const active = open.active === -1 && by < 0 ? count - 1 : (open.active + by + count) % count
    setOpen({ ...open, active })
  }
  /** The keys while the list is open. */
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    Escape: close,
  }
  const option = open?.options[open.active]
  return (
    <div
      className="completed"
      ref={(element) => {
        area.current = element?.querySelector('textarea') ?? null
      }}
    >
      <Field
        label={label}
        mono
        rows={Math.max(8, value.split('\n').length + 1)}
        value={value}
        error={error}
        hint={text.hint}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        {...(open !== undefined && { 'aria-controls': id })}
        {...(option !== undefined && { 'aria-activedescendant': `${id}-${open?.active}` })}
        onChange={(changed) => {
          onChange(changed)
          suggest({ isAsked: false })
        }}
        onBlur={close}
        // by a click or a key, the caret has gone elsewhere
        onSelect={() => open !== undefined && area.current?.selectionStart !== open.caret && close()}
        onKeyDown={(event) => {
          const isAsking = event.ctrlKey && event.key === ' '
          const act =
            open && (event.key === 'Enter' && option !== undefined ? () => accept(option) : keys[event.key])
          if (!isAsking && act === undefined) return event.continuePropagation()
          event.preventDefault()
          if (isAsking) suggest({ isAsked: true })
          else act?.()
        }}
      />
      <span className="hidden" role="status">
        {open !== undefined && text.count(open.options.length)}
      </span>
      {open !== undefined && (
        <ul
          id={id}
          // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the focus stays in the text
          role="listbox"
          aria-label={text.list}
          className="popover options completions"
          style={{
            '--line': String(open.line),
            '--column': String(open.column),
            '--scrolled': `${area.current?.scrollLeft ?? 0}px`,
          }}
        >
          {open.options.map((one, at) => (
            <li
              key={one}
              id={`${id}-${at}`}
              // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the focus stays in the text
              role="option"
              aria-selected={at === open.active}
              tabIndex={-1}
              className="option"
              {...(at === open.active && {
                'data-focused': true,
                ref: (element: HTMLElement | null) => element?.scrollIntoView({ block: 'nearest' }),
              })}
              onMouseDown={(event) => {
                event.preventDefault()
                accept(one)
              }}
            >
              {one}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
