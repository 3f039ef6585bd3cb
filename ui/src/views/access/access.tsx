import { EmptyState } from '../../components/empty-state.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { Entities } from './entities.tsx'
import { Groups } from './groups.tsx'
import { Policies } from './policies.tsx'
import { Tokens } from './tokens.tsx'
import './access.css'

const text = strings.access

const tabs = [
  { name: 'policies', path: 'sys/policies/acl', capability: 'list', Page: Policies },
  { name: 'tokens', path: 'auth/token/lookup-accessor', capability: 'update', Page: Tokens },
  { name: 'entities', path: 'identity/entity/id', capability: 'list', Page: Entities },
  { name: 'groups', path: 'identity/group/id', capability: 'list', Page: Groups },
] as const

/** `#/access/<tab>/<object>`: who may do what. */
export function View() {
  const { parts } = usePlace()
  const [tab, object] = parts
  const { can, isKnown } = useCapabilities([...tabs.map(({ path }) => path), 'auth/token/create'])
  const allowed = tabs.filter(
    ({ name, path, capability }) =>
      can(path, capability) || (name === 'tokens' && can('auth/token/create', 'update')),
  )
  const open = allowed.find(({ name }) => name === tab) ?? allowed[0]
  return (
    <div className="view">
      <nav aria-label={text.aspects} className="subnavigation">
        {allowed.map(({ name }) => (
          <PlaceLink key={name} view="access" parts={[name]} className={name === open?.name ? 'active' : ''}>
            {text.tabs[name]}
          </PlaceLink>
        ))}
      </nav>
      {open !== undefined ? (
        <open.Page key={object ?? ''} object={object} />
      ) : (
        isKnown && <EmptyState title={strings.shell.notAllowed} />
      )}
    </div>
  )
}
