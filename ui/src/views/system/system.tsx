import { EmptyState } from '../../components/empty-state.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { AuditDevices } from './audit-devices.tsx'
import { Deleted } from './deleted.tsx'
import { Mounts } from './mounts.tsx'
import { Namespaces } from './namespaces.tsx'
import { RateLimits } from './rate-limits.tsx'
import { Server } from './server.tsx'

const text = strings.system

const tabs = [
  { name: 'secrets', path: 'sys/mounts', capability: 'read', Page: () => <Mounts kind="secrets" /> },
  { name: 'logins', path: 'sys/auth', capability: 'read', Page: () => <Mounts kind="logins" /> },
  { name: 'namespaces', path: 'sys/namespaces', capability: 'list', Page: Namespaces },
  { name: 'server', path: 'sys/key-status', capability: 'read', Page: Server },
  // who may not use `sudo` there is refused
  { name: 'audit', path: 'sys/audit', capability: 'sudo', Page: AuditDevices },
  { name: 'deleted', path: 'sys/history/deleted', capability: 'read', Page: Deleted },
  { name: 'limits', path: 'sys/quotas/rate-limit', capability: 'list', Page: RateLimits },
] as const

/** `#/system/<tab>/<object>`: what the server consists of. */
export function View() {
  const { parts } = usePlace()
  const [tab] = parts
  const { can, isKnown } = useCapabilities(tabs.map(({ path }) => path))
  const allowed = tabs.filter(({ path, capability }) => can(path, capability))
  const open = allowed.find(({ name }) => name === tab) ?? allowed[0]
  return (
    <div className="view">
      <nav aria-label={text.aspects} className="subnavigation">
        {allowed.map(({ name }) => (
          <PlaceLink key={name} view="system" parts={[name]} className={name === open?.name ? 'active' : ''}>
            {text.tabs[name]}
          </PlaceLink>
        ))}
      </nav>
      {open !== undefined ? (
        <open.Page key={open.name} />
      ) : (
        isKnown && <EmptyState title={strings.shell.notAllowed} />
      )}
    </div>
  )
}
