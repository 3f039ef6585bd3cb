import { visible } from '../../components/visible.ts'
import { PlaceLink } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { trailOf } from './paths.ts'

type Props = { readonly mount: string; readonly path: string }

/** Where a folder or a secret is, as links to the folders above it. */
export function Trail({ mount, path }: Props) {
  const trail = trailOf(path)
  const above = trail.slice(0, -1)
  const last = trail.at(-1)
  return (
    <nav aria-label={strings.secrets.trail} className="trail">
      <ol>
        <li>
          <PlaceLink view="secrets">{strings.views['secrets']}</PlaceLink>
        </li>
        <li>
          {last === undefined ? (
            <span aria-current="page">{mount}</span>
          ) : (
            <PlaceLink view="secrets" parts={[mount]}>
              {mount}
            </PlaceLink>
          )}
        </li>
        {above.map((folder) => (
          <li key={folder.path}>
            <PlaceLink view="secrets" parts={[mount, folder.path]}>
              {folder.name}
            </PlaceLink>
          </li>
        ))}
        {last !== undefined && (
          <li>
            <span aria-current="page">{visible(last.name)}</span>
          </li>
        )}
      </ol>
    </nav>
  )
}
