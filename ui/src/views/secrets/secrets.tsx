import { visibleMounts } from '../../api/server.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useMounts } from '../../shell/mounts.ts'
import { ViewLoading } from '../../shell/outcomes.tsx'
import { PlaceLink, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { FirstSecret } from './first-secret.tsx'
import { Folder } from './folder.tsx'
import { isFolder, type SecretMount, secretMounts } from './paths.ts'
import { SecretPage } from './secret-page.tsx'
import './secrets.css'

const text = strings.secrets

/** `#/secrets`, `#/secrets/<mount>`, `#/secrets/<mount>/<path>`; a path that ends in a slash is a folder. */
export function View() {
  const { mounts, isKnown } = useMounts()
  const { parts } = usePlace()
  const [mountPath, path = ''] = parts
  if (!isKnown) return <ViewLoading />
  const all = secretMounts(mounts)
  if (mountPath === undefined) return <MountList mounts={all} />
  const mount = all.find((one) => one.path === mountPath)
  if (mount === undefined) return <EmptyState title={text.noMount(mountPath)}>{text.noMountNext}</EmptyState>
  const place = { mount, path, key: `${mount.path} ${path}` }
  if (isFolder(path)) return <Folder {...place} key={place.key} />
  return mount.version === 2 ? (
    <SecretPage {...place} key={place.key} />
  ) : (
    <FirstSecret {...place} key={place.key} />
  )
}

const columns: readonly Column<SecretMount>[] = [
  {
    id: 'path',
    title: text.mount,
    by: ({ path }) => path,
    cell: ({ path }) => (
      <PlaceLink view="secrets" parts={[path]}>
        {path}
      </PlaceLink>
    ),
  },
  { id: 'version', title: text.version, width: '6rem', cell: ({ version }) => version },
  {
    id: 'description',
    title: text.description,
    width: '2fr',
    wraps: true,
    cell: ({ description }) => description,
  },
]

function MountList({ mounts }: { readonly mounts: readonly SecretMount[] }) {
  return (
    <div className="view">
      <ViewHeader title={strings.views['secrets'] ?? ''} requests={[visibleMounts.request({})]} />
      <Table
        name="secret-mounts"
        label={text.mounts}
        columns={columns}
        rows={mounts}
        keyOf={({ path }) => path}
      />
    </div>
  )
}
