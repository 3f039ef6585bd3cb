import { lintFindings, loginConfig, loginFailures, loginRoles, loginStatus } from '../../api/logins.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { Choices } from '../../shell/choices.tsx'
import { pathsOfTypes, useMounts } from '../../shell/mounts.ts'
import { usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { Explain } from './explain.tsx'
import { Failures } from './failures.tsx'
import { Roles } from './roles.tsx'
import { Status } from './status.tsx'
import './logins.css'

const text = strings.logins

const tabs = [
  { name: 'failures', path: 'failures', capability: 'read', Page: Failures, call: loginFailures },
  { name: 'explain', path: 'explain', capability: 'update', Page: Explain, call: undefined },
  { name: 'roles', path: 'role', capability: 'list', Page: Roles, call: loginRoles },
  { name: 'status', path: 'status', capability: 'read', Page: Status, call: loginStatus },
] as const

/** What operators see of logins by JWT and through a provider. */
export function View() {
  const { mounts, isKnown } = useMounts()
  const { parts } = usePlace()
  const paths = pathsOfTypes(mounts.auth, ['jwt', 'oidc'])
  const mount = parts[0] ?? paths[0]
  if (mount === undefined) return isKnown ? <EmptyState title={text.none}>{text.noneNext}</EmptyState> : null
  return <Mount key={mount} mount={mount} paths={paths} tab={parts[1]} />
}

type Props = { readonly mount: string; readonly paths: readonly string[]; readonly tab: string | undefined }

function Mount({ mount, paths, tab }: Props) {
  const { can, isKnown } = useCapabilities(tabs.map(({ path }) => `auth/${mount}/${path}`))
  const allowed = tabs.filter(({ path, capability }) => can(`auth/${mount}/${path}`, capability))
  const open = allowed.find(({ name }) => name === tab) ?? allowed[0]
  const params = { jwt_mount_path: mount }
  const extra = open?.name === 'roles' ? [lintFindings] : open?.name === 'status' ? [loginConfig] : []
  const calls = open?.call === undefined ? [] : [open.call, ...extra]
  return (
    <div className="view">
      <ViewHeader
        title={strings.views['logins'] ?? ''}
        requests={calls.map((call) => call.request({ params }))}
      />
      {paths.length > 1 && (
        <Choices
          view="logins"
          of="mounts"
          label={text.mounts}
          choices={paths.map((path) => ({ name: path, label: `${path}/`, parts: [path] }))}
          open={mount}
        />
      )}
      <Choices
        view="logins"
        of="aspects"
        label={text.aspects}
        choices={allowed.map(({ name }) => ({ name, label: text.tabs[name], parts: [mount, name] }))}
        open={open?.name}
      />
      {open !== undefined ? (
        <open.Page mount={mount} />
      ) : (
        isKnown && <EmptyState title={strings.shell.notAllowed} />
      )}
    </div>
  )
}
