-- Access tokens of the API. Every change moves the control version.

-- name: tokens
SELECT id, name, access, created_at, revoked_at FROM tokens ORDER BY id;

-- name: token
SELECT id, name, access, created_at, revoked_at FROM tokens WHERE digest = %(digest)s AND revoked_at IS NULL;

-- name: count_tokens
SELECT count(*) FROM tokens WHERE revoked_at IS NULL;

-- name: is_named
SELECT 1 FROM tokens WHERE name = %(name)s AND revoked_at IS NULL;

-- name: add_token
INSERT INTO tokens(name, access, digest, created_at) VALUES (%(name)s, %(access)s, %(digest)s, %(now)s) RETURNING id, name, access, created_at, revoked_at;

-- name: revoke_token
UPDATE tokens SET revoked_at = %(now)s WHERE id = %(id)s AND revoked_at IS NULL;

-- name: forget_revoked
-- The latest of those that were revoked stay in the list.
DELETE FROM tokens WHERE revoked_at IS NOT NULL AND id NOT IN (SELECT id FROM tokens WHERE revoked_at IS NOT NULL ORDER BY revoked_at DESC, id DESC LIMIT %(kept)s);

-- name: has_tokens
SELECT EXISTS(SELECT 1 FROM tokens WHERE revoked_at IS NULL);
