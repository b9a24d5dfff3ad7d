BEGIN TRANSACTION;
CREATE TABLE sapwood_catalog (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "sapwood_catalog" VALUES(1);
CREATE TABLE sapwood_datasets (
	id INTEGER NOT NULL, 
	identity TEXT NOT NULL, 
	name TEXT NOT NULL, 
	tree TEXT NOT NULL, 
	tip BIGINT NOT NULL, 
	oldest BIGINT NOT NULL, 
	snapshot TEXT NOT NULL, 
	entries BIGINT NOT NULL, 
	bytes BIGINT, 
	objects BIGINT, 
	added_ms BIGINT NOT NULL, 
	changed_ms BIGINT NOT NULL, 
	refreshed_ms BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (identity), 
	UNIQUE (name)
);
INSERT INTO "sapwood_datasets" VALUES(1,'00000000000000000001','data','Events',2,1,'00000000000000000004',1000,27000,5,1795323120080,1790000120000,1795323120121);
INSERT INTO "sapwood_datasets" VALUES(2,'00000000000000000005','skim','Events',1,1,'00000000000000000006',1000,10000,2,1795323120161,1790000060000,1795323120186);
CREATE TABLE sapwood_inputs (
	dataset INTEGER NOT NULL, 
	version BIGINT NOT NULL, 
	place INTEGER NOT NULL, 
	url TEXT NOT NULL, 
	of_version TEXT, 
	PRIMARY KEY (dataset, version, place), 
	FOREIGN KEY(dataset) REFERENCES sapwood_datasets (id) ON DELETE CASCADE
);
INSERT INTO "sapwood_inputs" VALUES(1,1,0,'/data/a.root:Events',NULL);
INSERT INTO "sapwood_inputs" VALUES(2,1,0,'s3://bucket/data','v2');
CREATE TABLE sapwood_locations (
	dataset INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	url TEXT NOT NULL, 
	PRIMARY KEY (dataset, place), 
	FOREIGN KEY(dataset) REFERENCES sapwood_datasets (id) ON DELETE CASCADE, 
	UNIQUE (url)
);
INSERT INTO "sapwood_locations" VALUES(1,0,'s3://bucket/data');
INSERT INTO "sapwood_locations" VALUES(2,0,'/local/skim');
CREATE TABLE sapwood_products (
	dataset INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	since BIGINT NOT NULL, 
	until BIGINT, 
	version BIGINT NOT NULL, 
	branches INTEGER, 
	entries BIGINT, 
	bytes BIGINT, 
	objects BIGINT, 
	PRIMARY KEY (dataset, name, since), 
	FOREIGN KEY(dataset) REFERENCES sapwood_datasets (id) ON DELETE CASCADE
);
INSERT INTO "sapwood_products" VALUES(1,'Jet',1,2,1,4,1000,NULL,NULL);
INSERT INTO "sapwood_products" VALUES(1,'Muon',1,NULL,1,1,1000,10000,2);
INSERT INTO "sapwood_products" VALUES(1,'Jet',2,NULL,2,4,1000,17000,3);
INSERT INTO "sapwood_products" VALUES(2,'Muon',1,NULL,1,1,1000,10000,2);
CREATE TABLE sapwood_segments (
	dataset INTEGER NOT NULL, 
	number BIGINT NOT NULL, 
	since BIGINT NOT NULL, 
	until BIGINT, 
	entries BIGINT NOT NULL, 
	batch BIGINT NOT NULL, 
	PRIMARY KEY (dataset, number, since), 
	FOREIGN KEY(dataset) REFERENCES sapwood_datasets (id) ON DELETE CASCADE
);
INSERT INTO "sapwood_segments" VALUES(1,0,1,NULL,1000,100);
INSERT INTO "sapwood_segments" VALUES(2,0,1,NULL,1000,100);
CREATE TABLE sapwood_tags (
	dataset INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	PRIMARY KEY (dataset, name), 
	FOREIGN KEY(dataset) REFERENCES sapwood_datasets (id) ON DELETE CASCADE
);
INSERT INTO "sapwood_tags" VALUES(1,'spring',2);
CREATE TABLE sapwood_versions (
	dataset INTEGER NOT NULL, 
	version BIGINT NOT NULL, 
	snapshot TEXT, 
	parent BIGINT, 
	operation TEXT NOT NULL, 
	what TEXT, 
	time_ms BIGINT NOT NULL, 
	who TEXT, 
	tool TEXT, 
	job TEXT, 
	entries BIGINT, 
	parameters TEXT NOT NULL, 
	PRIMARY KEY (dataset, version), 
	FOREIGN KEY(dataset) REFERENCES sapwood_datasets (id) ON DELETE CASCADE
);
INSERT INTO "sapwood_versions" VALUES(1,1,'00000000000000000002',NULL,'create',NULL,1790000060000,'ada','sapwood 0.1.0',NULL,1000,'{}');
INSERT INTO "sapwood_versions" VALUES(1,2,'00000000000000000004',1,'replace',NULL,1790000120000,'ada','sapwood 0.1.0',NULL,1000,'{}');
INSERT INTO "sapwood_versions" VALUES(2,1,'00000000000000000006',NULL,'create',NULL,1790000060000,'ada','sapwood 0.1.0',NULL,1000,'{}');
CREATE INDEX sapwood_products_by_name ON sapwood_products (name, version);
CREATE INDEX sapwood_inputs_by_url ON sapwood_inputs (url);
COMMIT;
