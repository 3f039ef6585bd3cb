import { PlaceLink } from './use-place.tsx'

type Choice = { readonly name: string; readonly label: string; readonly parts: readonly string[] }

type Props = {
  readonly view: string
  /** What the choices are of. */
  readonly label: string
  readonly choices: readonly Choice[]
  /** The name of the one that is open. */
  readonly open: string | undefined
  /** `mounts` are a line of links, `aspects` look like tabs. */
  readonly of: 'mounts' | 'aspects'
}

/** Places inside a view, of which one is open. */
export const Choices = ({ view, label, choices, open, of }: Props) => (
  <nav aria-label={label} className={of === 'mounts' ? 'choices' : 'subnavigation'}>
    {choices.map(({ name, label: says, parts }) => (
      <PlaceLink
        key={name}
        view={view}
        parts={parts}
        className={name === open ? 'active' : ''}
        isOpen={name === open}
      >
        {says}
      </PlaceLink>
    ))}
  </nav>
)
