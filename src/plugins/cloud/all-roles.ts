import { pagesOf } from '../../lib/data/pages.ts'

/** The roles that exist among these names, in their order. Other requests are served between two pages. */
export async function allRoles<Role>(
  names: readonly string[],
  find: (name: string) => Promise<Role | undefined>,
): Promise<{ readonly name: string; readonly role: Role }[]> {
  const found: { name: string; role: Role }[] = []
  for await (const page of pagesOf(names)) {
    const roles = await Promise.all(page.map(find))
    for (const [at, name] of page.entries()) {
      const role = roles[at]
      if (role !== undefined) found.push({ name, role })
    }
  }
  return found
}
